/** @module Where the program of a thread lies: in `dist/programs`, made by `scripts/bundle-programs.mjs`. */
import { existsSync } from 'node:fs'

/** Undefined in a bundle of CommonJS. */
const HERE: string | undefined = import.meta.url

/**
 * The address that `place` makes, which is relative to `import.meta.url` of its caller. Undefined where no such file is: a bundled program does not
 * carry the programs of its threads along, and in a bundle of CommonJS no module has a place.
 */
export function workerProgram(place: () => URL): URL | undefined {
  if (HERE === undefined) return undefined
  const program = place()
  return existsSync(program) ? program : undefined
}
