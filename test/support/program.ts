/** @module Where a compiled program lies that a test starts as a process of its own. */
import { fileURLToPath } from 'node:url'

/** A program of the package: `countersign`, or that of a thread. */
export function shippedProgram(name: string): string {
  return fileURLToPath(new URL(`../../programs/${name}.js`, import.meta.url))
}

/** The bundle of an example, or of a test's child, at a path below `dist`: it starts in half the time of its modules. */
export function bundledProgram(path: string): string {
  const name = path.replaceAll('/', '-')
  return fileURLToPath(new URL(`../../bundled/${name}`, import.meta.url))
}
