/** @module Locates the program of the writer thread: its own file, or its text in a bundled program, which has no such file. */
import { join } from 'node:path'
import { workerProgram } from '../../workers/worker-program.ts'

export async function writerProgram(): Promise<URL | string> {
  return workerProgram(() => new URL('../../../programs/writer-worker.js', import.meta.url)) ?? (await programText())
}

/** Undefined in a CommonJS bundle. */
const HERE: string | undefined = import.meta.url

async function programText(): Promise<string> {
  const { WRITER_SOURCE } = await import('./writer-source.ts')
  if (WRITER_SOURCE === '') throw new Error('this build holds no text of the writer thread: run npm run build')
  return textFrom(WRITER_SOURCE, bundlePlace())
}

/** A thread started from text resolves `require` from the working directory, unless it is given the program's path. */
function textFrom(source: string, place: string): string {
  return `((require) => {${source}\n})(require('node:module').createRequire(${JSON.stringify(place)}))`
}

function bundlePlace(): string {
  if (HERE !== undefined) return HERE
  return typeof __filename === 'string' ? __filename : (process.argv[1] ?? join(process.cwd(), 'program.js'))
}
