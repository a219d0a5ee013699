/** @module Entry point of the writer thread, which has the only connection that writes to the store file. */
import type { Handlers } from '../../workers/peer.ts'
import { type Owner, type Served, serveThread } from '../../workers/serve-thread.ts'
import { StoreOpenError } from '../event-store.ts'
import { Checkpoints } from './checkpoints.ts'
import { FilesInPlace } from './files-in-place.ts'
import { GroupWriter } from './group-writer.ts'
import { compactFile, moveBodies } from './move-bodies.ts'
import { asOpenError, type Database, diskFault } from './open.ts'
import { openWriter, settleLog } from './open-writer.ts'
import { fileIdentity, removedOrReplaced } from './store-path.ts'
import {
  type AppendGroup,
  type GroupOutcome,
  WRITER_ERRORS,
  type WriterCalls,
  type WriterHostCalls,
  type WriterSettings,
} from './writer-protocol.ts'

const RETRY_MS = 500
const tooFullToSettle = (file: string): GroupOutcome => ({
  kind: 'refused',
  result: { kind: 'full', detail: 'the disk is too full to settle the log' },
  fault: { file, operation: 'write', errno: 'ENOSPC', code: 'SQLITE_FULL' },
})

/** One connection, from its opening to its first failure or its close. */
class FileWriter implements Served<WriterCalls> {
  readonly #owner: Owner<WriterHostCalls>
  readonly #db: Database
  readonly #writer: GroupWriter
  readonly #checkpoints: Checkpoints
  readonly #files: FilesInPlace
  #settled: boolean

  constructor({ path, identity, logFrames }: WriterSettings, owner: Owner<WriterHostCalls>) {
    this.#owner = owner
    requireSameFile(path, identity)
    this.#db = openWriter(path)
    this.#settled = settleLog(this.#db)
    this.#files = new FilesInPlace(path)
    this.#writer = new GroupWriter(this.#db)
    this.#checkpoints = new Checkpoints(this.#db, { logFrames, onFailure: (error) => this.#fail(error) })
  }

  readonly handlers: Handlers<WriterCalls> = {
    append: (group) => {
      // After a failure no group is started: the store answers for groups that still arrive.
      if (!this.#db.open) throw new Error('the file was closed after a failure')
      const outcome = this.#write(group)
      // Closed before the answer is sent: when the store reopens the file, this connection must be gone.
      if (outcome.kind === 'failed') this.#end()
      // Runs after the answer, which is sent in this turn.
      else queueMicrotask(() => this.#checkpoints.afterCommit(outcome.kind === 'refused'))
      return outcome
    },
    move: (moved) => this.#maintain(() => moveBodies(this.#db, moved)),
    compact: () => this.#maintain(() => compactFile(this.#db)),
  }

  #maintain(work: () => void): void {
    if (!this.#db.open) throw new Error('the file was closed after a failure')
    try {
      this.#settled ||= settleLog(this.#db)
      if (this.#settled) work()
    } catch (error) {
      this.#fail(error)
      throw error
    }
    if (!this.#settled) throw new Error('the disk is too full to settle the log')
    this.#checkpoints.afterCommit(false)
  }

  readonly close = (): void => {
    this.#checkpoints.truncate()
    this.#end()
  }

  #write(group: AppendGroup): GroupOutcome {
    try {
      this.#settled ||= settleLog(this.#db)
      const missing = this.#files.missing()
      if (missing !== undefined) {
        // The connection still has the old WAL open: its last act is to checkpoint acknowledged appends into the file.
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
    this.#owner.tell('stopped', [String(error), diskFault(error, this.#db.name)])
  }

  #end(): void {
    this.#checkpoints.stop()
    if (this.#db.open) this.#db.close()
    this.#owner.leave()
  }
}

function requireSameFile(path: string, identity: string | undefined): void {
  if (fileIdentity(path) === identity) return
  throw new StoreOpenError('store-unreadable', removedOrReplaced(path))
}

void serveThread((settings: WriterSettings, owner: Owner<WriterHostCalls>) => {
  try {
    return new FileWriter(settings, owner)
  } catch (error) {
    throw asOpenError(error, settings.path)
  }
}, WRITER_ERRORS)
