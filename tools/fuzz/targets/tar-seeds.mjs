import { tarReader } from './tar.mjs';

/** A valid tar file with every kind of entry, as a stream. */
export async function* tarSeeds() {
  const [first] = await tarReader.seeds();
  if (first !== undefined) yield first;
}
