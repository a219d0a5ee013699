/** @module The store's side of the writer thread: starts it, posts groups to it, and reports their outcomes and its end. */
import { join } from 'node:path'
import { workerProgram } from '../../workers/worker-program.ts'
import { WorkerThread } from '../../workers/worker-thread.ts'
import type { MovedBodies } from '../archived-body.ts'
import type { StoreFault } from '../event-store.ts'
import {
  type AppendGroup,
  type GroupOutcome,
  WRITER_ERRORS,
  type WriterCalls,
  type WriterHostCalls,
  type WriterSettings,
} from './writer-protocol.ts'

export interface WriterEvents {
  readonly onOutcome: (id: number, outcome: GroupOutcome) => void
  /** The file was closed after a failure outside of any group; groups without an outcome were not started. */
  readonly onStopped: (detail: string, fault: StoreFault | undefined) => void
  /**
   * The thread has ended unexpectedly and its connection is closed. Only if no failure was reported before may a group without an outcome have been
   * written.
   */
  readonly onEnd: (detail: string) => void
}

export interface Writer {
  post(group: AppendGroup): void
  move(moved: MovedBodies): Promise<void>
  compact(): Promise<void>
  /** Empties the WAL, closes the file and ends the thread. */
  close(): Promise<void>
}

/** Resolves when the file is open and checked. Rejects with `StoreOpenError` if the file cannot be used. */
export async function startWriter(settings: WriterSettings, events: WriterEvents): Promise<Writer> {
  let isOpen = false
  const worker: WorkerThread<WriterCalls, WriterHostCalls> = new WorkerThread({
    ...{ program: await writerProgram(), workerData: settings, name: 'store-writer', heap: undefined },
    errors: WRITER_ERRORS,
    handlers: {
      stopped: (detail, fault) => {
        worker.hold()
        events.onStopped(detail, fault)
      },
    },
    lost: (why) => why,
    // Called only when the thread is gone: its connection is closed by then.
    onDeath: (why) => {
      if (isOpen) events.onEnd(String(why))
    },
  })
  await worker.ready()
  isOpen = true
  // After a failure the thread ends, and this process must not end before it while a caller waits for that.
  const held = (): void => worker.hold()
  return {
    post: (group) => {
      worker.ask('append', [group]).then((outcome) => {
        if (outcome.kind === 'failed') held()
        events.onOutcome(group.id, outcome)
      }, held)
    },
    move: (moved) => worker.ask('move', [moved]),
    compact: () => worker.ask('compact', []),
    close: () => worker.end('the store is closed'),
  }
}

/** Locates the program of the writer thread: its own file, or its text in a bundled program, which has no such file. */
async function writerProgram(): Promise<URL | string> {
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
