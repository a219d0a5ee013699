/** @module Entry of the writer's thread: the only connection that writes to the store file. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { StoreOpenError } from '../event-store.ts'
import { Checkpoints } from './checkpoints.ts'
import { FilesInPlace } from './files-in-place.ts'
import { GroupWriter } from './group-writer.ts'
import { asOpenError, type Database, diskFault } from './open.ts'
import { openWriter, settleLog } from './open-writer.ts'
import { fileIdentity } from './store-path.ts'
import type { AppendGroup, FromWriter, GroupOutcome, ToWriter, WriterSettings } from './writer-protocol.ts'

const RETRY_MS = 500
const tooFullToSettle = (file: string): GroupOutcome => ({
  kind: 'refused',
  result: { kind: 'full', detail: 'the disk is too full to settle the log' },
  fault: { file, operation: 'write', errno: 'ENOSPC', code: 'SQLITE_FULL' },
})

/** Ends with its port: nothing else keeps the thread alive. */
class WriterThread {
  readonly #port: MessagePort
  readonly #db: Database
  readonly #writer: GroupWriter
  readonly #checkpoints: Checkpoints
  readonly #files: FilesInPlace
  #settled: boolean

  constructor(port: MessagePort, { path, identity, logFrames }: WriterSettings) {
    this.#port = port
    requireSameFile(path, identity)
    this.#db = openWriter(path)
    this.#settled = settleLog(this.#db)
    this.#files = new FilesInPlace(path)
    this.#writer = new GroupWriter(this.#db)
    this.#checkpoints = new Checkpoints(this.#db, { logFrames, onFailure: (error) => this.#fail(error) })
    port.on('message', (message: ToWriter) => this.#receive(message))
    this.#say({ kind: 'ready' })
  }

  #receive(message: ToWriter): void {
    // After a failure nothing is begun: the store answers for what still arrives.
    if (!this.#db.open) return
    if (message.kind === 'append') this.#append(message.group)
    else this.#close()
  }

  #close(): void {
    this.#checkpoints.truncate()
    this.#end()
  }

  #append(group: AppendGroup): void {
    const outcome = this.#write(group)
    // Closed before the answer: whoever reopens the file must not meet this connection.
    if (outcome.kind === 'failed') this.#end()
    this.#say({ kind: 'outcome', id: group.id, outcome })
    if (outcome.kind !== 'failed') this.#checkpoints.afterCommit(outcome.kind === 'refused')
  }

  #write(group: AppendGroup): GroupOutcome {
    try {
      this.#settled ||= settleLog(this.#db)
      const missing = this.#files.missing()
      if (missing !== undefined) {
        // The connection still holds the old log: its last act is to bring what was acknowledged into the file.
        settleLog(this.#db)
        throw new Error(`${missing} was removed or replaced while in use`)
      }
    } catch (error) {
      const fault = diskFault(error, this.#db.name)
      return { kind: 'failed', result: { kind: 'unavailable', detail: String(error), retryAfterMs: RETRY_MS }, fault }
    }
    return this.#settled ? this.#writer.write(group) : tooFullToSettle(this.#db.name)
  }

  #fail(error: unknown): void {
    this.#end()
    this.#say({ kind: 'stopped', detail: String(error), fault: diskFault(error, this.#db.name) })
  }

  #end(): void {
    this.#checkpoints.stop()
    if (this.#db.open) this.#db.close()
    // After the last word of this turn.
    setImmediate(() => this.#port.close())
  }

  #say(message: FromWriter): void {
    this.#port.postMessage(message)
  }
}

function requireSameFile(path: string, identity: string | undefined): void {
  if (fileIdentity(path) === identity) return
  throw new StoreOpenError(
    'store-unreadable',
    `${path} was removed or replaced while in use: stop, put it back, start again`,
  )
}

const port = parentPort
if (port === null) throw new Error('the writer runs in a worker thread')
const settings = workerData as WriterSettings
try {
  new WriterThread(port, settings)
} catch (error) {
  const cause = asOpenError(error, settings.path)
  const code = cause instanceof StoreOpenError ? cause.code : undefined
  port.postMessage({
    kind: 'open-failed',
    code,
    message: cause instanceof Error ? cause.message : String(cause),
  } satisfies FromWriter)
  port.close()
}
