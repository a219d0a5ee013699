/** @module Locates the program of a thread: in `dist/programs`, built by `scripts/bundle-programs.mjs`. */
import { existsSync } from 'node:fs'

/** Undefined in a CommonJS bundle. */
const HERE: string | undefined = import.meta.url

/**
 * The URL that `place` returns, which the caller builds relative to its own `import.meta.url`. Undefined if there is no such file: a bundled program does not
 * contain the programs of its threads, and in a CommonJS bundle `import.meta.url` does not exist.
 */
export function workerProgram(place: () => URL): URL | undefined {
  if (HERE === undefined) return undefined
  const program = place()
  return existsSync(program) ? program : undefined
}
