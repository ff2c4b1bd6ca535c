import { ModelFileSystem, type TreePlan, writeTree } from '@holdfast/durable/testing';
import { type PlanOptions, planRestore, type RestorePlan, type SourceScanOptions } from '@holdfast/restore';
import { type DefinedNode, type DefineOptions, MemorySource } from '@holdfast/restore/testing';
import type { LiveTree, Tree } from '@holdfast/workspacestore';

/** A live tree in memory, to plan from. */
export class ModelTree {
  readonly fileSystem = new ModelFileSystem();
  readonly source = new MemorySource(this.fileSystem);

  constructor(plan: TreePlan = {}) {
    writeTree(this.fileSystem, '/', { 'root/': null });
    writeTree(this.fileSystem, '/root', plan);
  }

  async live(options: SourceScanOptions = {}): Promise<LiveTree> {
    return await this.source.scan('/root', options);
  }

  async target(nodes: Readonly<Record<string, DefinedNode>>, options: DefineOptions = {}): Promise<Tree> {
    return await this.source.openTree(this.source.define(nodes, { rootMode: 0o700, ...options }));
  }

  async captured(options: SourceScanOptions = {}): Promise<Tree> {
    return await this.source.openTree(this.source.capture('/root', options));
  }

  async plan(
    nodes: Readonly<Record<string, DefinedNode>>,
    options: PlanOptions & { readonly define?: DefineOptions; readonly scan?: SourceScanOptions } = {},
  ): Promise<RestorePlan> {
    const { define, scan, ...rest } = options;
    return planRestore(await this.live(scan), await this.target(nodes, define), rest);
  }
}

export const file = (content: string, mode = 0o600): DefinedNode => ({ kind: 'file', content, mode });
export const link = (target: string): DefinedNode => ({ kind: 'symlink', target });
export const directory = (mode = 0o700): DefinedNode => ({ kind: 'directory', mode });

/** The paths of a plan's lists, without empty lists. */
export function paths(plan: RestorePlan): Readonly<Record<string, readonly string[]>> {
  const lists = {
    create: plan.create,
    replace: plan.replace,
    chmod: plan.chmod,
    retype: plan.retype,
    delete: plan.delete,
    mkdir: plan.mkdir,
  };
  return Object.fromEntries(
    Object.entries(lists)
      .filter(([, list]) => list.length > 0)
      .map(([name, list]) => [name, list.map(({ path }) => path)]),
  );
}
