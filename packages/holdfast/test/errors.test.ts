import * as rig from '@holdfast/rig';
import * as session from '@holdfast/session';
import * as holdfast from 'holdfast';
import { expect, it } from 'vitest';

/** Classes of errors that a package exports, by name. */
function errorsOf(exported: object): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(exported).filter(([name, value]) => typeof value === 'function' && name.endsWith('Error')),
  );
}

it('the errors of sessions and rigs are there for applications, the same classes', () => {
  const ours = errorsOf(holdfast);
  for (const [name, value] of errorsOf(rig)) expect(ours.get(name), name).toBe(value);
  // Tools and sockets are not what an application of the umbrella catches by class.
  const left = new Set(['ControlCallError', 'ControlUnavailableError', 'ToolCallError']);
  for (const [name, value] of errorsOf(session)) {
    if (!left.has(name)) expect(ours.get(name), name).toBe(value);
  }
  expect(ours.size).toBeGreaterThan(20);
});

it('a cause is found from the umbrella alone', async () => {
  const error = new holdfast.WorkspaceRestoreError('materialize-failed', 'no', {
    cause: new holdfast.MaterializeError(`v1:sha256:${'0'.repeat(64)}` as holdfast.Ref, '/somewhere'),
  });
  expect(holdfast.findCause(error, holdfast.MaterializeError)?.dest).toBe('/somewhere');
  await Promise.resolve();
});
