/** @module Where a compiled program lies that a test starts as a process of its own. */
import { fileURLToPath } from 'node:url'

/** The bundle of the program at a path below `dist`, such as `src/cli/main.js`: it starts in half the time of its modules. */
export function bundledProgram(path: string): string {
  const name = path.replaceAll('/', '-')
  return fileURLToPath(new URL(`../../bundled/${name}`, import.meta.url))
}
