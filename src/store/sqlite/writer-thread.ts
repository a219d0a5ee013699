/** @module Starts the writer's thread: from its own file, or in a bundled program, where there is none, from its text. */
import { join } from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { workerProgram } from '../../workers/worker-program.ts'
import type { WriterSettings } from './writer-protocol.ts'

export async function startThread(settings: WriterSettings): Promise<Worker> {
  const options = { workerData: settings, name: 'store-writer' }
  const file = workerProgram(() => new URL('../../../programs/writer-worker.js', import.meta.url))
  return file === undefined ? threadFromText(options) : new Worker(file, options)
}

/** Undefined in a bundle of CommonJS. */
const HERE: string | undefined = import.meta.url

async function threadFromText(options: WorkerOptions): Promise<Worker> {
  const { WRITER_SOURCE } = await import('./writer-source.ts')
  if (WRITER_SOURCE === '') throw new Error('this build holds no text of the writer thread: run npm run build')
  return new Worker(textFrom(WRITER_SOURCE, bundlePlace()), { ...options, eval: true })
}

/** What a thread made of text requires is looked up from the working directory, unless it knows the program's place. */
function textFrom(source: string, place: string): string {
  return `((require) => {${source}\n})(require('node:module').createRequire(${JSON.stringify(place)}))`
}

function bundlePlace(): string {
  if (HERE !== undefined) return HERE
  return typeof __filename === 'string' ? __filename : (process.argv[1] ?? join(process.cwd(), 'program.js'))
}
