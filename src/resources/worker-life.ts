/** @module A thread of this process from its owner's side: its start under a bounded heap, and its end. */
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'

const MIB = 1024 * 1024
/** Of its heap, young and old. */
const HEAP_BYTES = 256 * MIB
const YOUNG_BYTES = 32 * MIB

/** A worker's id from its `exit` on, which comes once. */
const ENDED = -1

/** What a thread says when its program cannot begin. */
interface OpenFailed {
  readonly kind: 'open-failed'
  readonly message: string
}

export interface WorkerOptions<Message> {
  /** Its program. */
  readonly file: URL
  readonly workerData: unknown
  readonly name: string
  /** Most that its heap may grow to. Default 256 MiB. */
  readonly heapBytes?: number
  /**
   * Of that heap, most for young objects; buffers outside the heap that were made lately may take two thirds of it besides, before the engine looks for garbage.
   * Default 32 MiB.
   */
  readonly youngBytes?: number
  readonly receive: (message: Exclude<Message, OpenFailed>) => void
  /** Called once, when it is no more. */
  readonly ended: (reason: string) => void
}

/** While it is idle it keeps no process alive. */
export function startWorker<Message extends { readonly kind: string }>(options: WorkerOptions<Message>): Worker {
  const { file, workerData, name, heapBytes = HEAP_BYTES, youngBytes = YOUNG_BYTES, receive, ended } = options
  const resourceLimits = {
    maxOldGenerationSizeMb: Math.floor((heapBytes - youngBytes) / MIB),
    maxYoungGenerationSizeMb: Math.floor(youngBytes / MIB),
  }
  // Set for the whole process, as `npm start` does, it goes before the limit of a thread; the heap that this one began with has its size by now.
  setFlagsFromString('--max-semi-space-size=0')
  const worker = new Worker(file, { workerData, name, resourceLimits })
  worker.unref()
  let reason = 'it ended'
  worker.on('message', (message: Message | OpenFailed) => {
    if (isOpenFailed(message)) reason = message.message
    else receive(message as Exclude<Message, OpenFailed>)
  })
  worker.on('error', (error) => {
    reason = error.message
  })
  worker.once('exit', () => ended(reason))
  return worker
}

function isOpenFailed(message: { readonly kind: string }): message is OpenFailed {
  return message.kind === 'open-failed'
}

/** Resolves when it has ended: by itself, once it was requested to by `leave`, or terminated after so many milliseconds. */
export async function endWorker(worker: Worker, leave: () => void, maxMs: number): Promise<void> {
  if (worker.threadId === ENDED) return
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  leave()
  const late = setTimeout(() => void worker.terminate(), maxMs)
  await ended
  clearTimeout(late)
}
