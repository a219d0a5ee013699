/** @module The store's side of the writer's thread: starts it, hands it groups, tells what became of them and when it has ended. */
import { type StoreFault, StoreOpenError } from '../event-store.ts'
import type { AppendGroup, FromWriter, GroupOutcome, ToWriter, WriterSettings } from './writer-protocol.ts'
import { startThread } from './writer-thread.ts'

export interface WriterEvents {
  readonly onOutcome: (id: number, outcome: GroupOutcome) => void
  /** The file is closed after a failure outside of any group; groups without an outcome were not begun. */
  readonly onStopped: (detail: string, fault: StoreFault | undefined) => void
  /** The thread has ended unasked and its connection is closed. Only after a silent end may a group without outcome be written. */
  readonly onEnd: (detail: string) => void
}

export interface Writer {
  post(group: AppendGroup): void
  /** Empties the log, closes the file and ends the thread. */
  close(): Promise<void>
}

/** Resolves when the file is open and checked. Rejects with `StoreOpenError` where the file is at fault. */
export async function startWriter(settings: WriterSettings, events: WriterEvents): Promise<Writer> {
  const worker = await startThread(settings)
  let failure: Error | undefined
  let quiet = true
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
  })

  const say = (message: ToWriter): void => worker.postMessage(message)
  let waiting = 0
  const writer: Writer = {
    post: (group) => {
      // An idle thread keeps no process alive; one with work to report does.
      waiting += 1
      worker.ref()
      say({ kind: 'append', group })
    },
    close: async () => {
      quiet = true
      worker.ref()
      say({ kind: 'close' })
      await ended
    },
  }

  return new Promise((resolve, reject) => {
    worker.on('message', (message: FromWriter) => {
      if (message.kind === 'outcome') {
        waiting -= 1
        // After a failure the thread ends, and whoever waits for that must not end first.
        if (waiting === 0 && message.outcome.kind !== 'failed') worker.unref()
        events.onOutcome(message.id, message.outcome)
      }
      if (message.kind === 'open-failed') failure = openError(message)
      else if (message.kind === 'stopped') {
        worker.ref()
        events.onStopped(message.detail, message.fault)
      } else if (message.kind === 'ready') {
        quiet = false
        worker.unref()
        resolve(writer)
      }
    })
    worker.once('error', (error) => {
      failure = error
    })
    // Not before the thread is gone: its connection is closed by then.
    worker.once('exit', () => {
      reject(failure ?? new Error('the writer ended'))
      if (!quiet) events.onEnd(String(failure ?? 'the writer ended'))
    })
  })
}

function openError({ code, message }: FromWriter & { kind: 'open-failed' }): Error {
  return code === undefined ? new Error(message) : new StoreOpenError(code, message)
}
