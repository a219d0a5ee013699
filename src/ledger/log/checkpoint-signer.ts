/**
 * @module Signs checkpoints. Before a tree is signed, the stored bytes of every new leaf are read and hashed again on top of the last checkpoint, so
 * that the new one is consistent with it, and a bit that flipped since the projection read it is never signed.
 */
import type { KeyObject } from 'node:crypto'
import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { formatCheckpoint } from '../../merkle/checkpoint.ts'
import { CompactTree } from '../../merkle/compact-tree.ts'
import { HASH_BYTES, leafHash, sameHash } from '../../merkle/hashes.ts'
import { noteSigner } from '../../merkle/note-key.ts'
import { signNote } from '../../merkle/signed-note.ts'
import { streamsLine, streamsRoot } from '../../merkle/stream-tree.ts'
import { TILE_WIDTH } from '../../merkle/tile-path.ts'
import type { Expectation } from '../../signing/check.ts'
import { dataDigest, digestText } from '../../signing/digests.ts'
import { logTenant } from '../../signing/stream-tenant.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { LogRow } from '../../store/log-store.ts'
import { digestBytes, type LogDeps } from './log-deps.ts'
import { lossesOfStore } from './log-losses.ts'
import type { LogProjection } from './log-projection.ts'
import { readCheckpoint } from './read-checkpoint.ts'
import type { GrowingHeads, StreamHeads } from './stream-heads.ts'

/** Appends handed over at once, which share a commit. */
const APPENDS_AT_ONCE = 64
/**
 * Up to this number of new leaves, a log has each leaf read by its position: the previous leaf may be at the other end of the store, as in the
 * system's own log, which grows at each start and hardly otherwise.
 */
const READ_SINGLY = 64

/** A tree to be signed: rebuilt from the last checkpoint out of the current contents of the store. */
interface Reread {
  readonly row: LogRow
  /** Where the checkpoint is appended. Taken together with the row, so that the append is refused if another process appends in between. */
  readonly at: Expectation | undefined
  readonly tree: CompactTree
  /** The root according to the projection. */
  readonly root: Uint8Array
  readonly heads: GrowingHeads
  /** Events that are acknowledged as lost, by the index of their leaf. */
  lost?: ReadonlyMap<number, LostEvent>
  /** Index of the next leaf; it is below the size of the last checkpoint if heads have to be rebuilt from an earlier leaf. */
  next: number
  /** The current tile of leaf hashes according to the projection. */
  tile?: { readonly index: number; readonly hashes: Uint8Array }
}

export interface SignedCheckpoint {
  readonly tenant: string
  readonly note: string
}

export class CheckpointSigner {
  readonly #deps: LogDeps
  readonly #projection: LogProjection
  readonly #heads: StreamHeads
  /** The key with which, or with a newer key, the last checkpoint of every log is signed. */
  #signedAnew: KeyObject | undefined
  #warnedOf: KeyObject | undefined
  /** Logs, with the size of their checkpoint, whose heads could not be rebuilt; another attempt would fail as well. */
  readonly #headless = new Set<string>()

  constructor(deps: LogDeps, projection: LogProjection, heads: StreamHeads) {
    this.#deps = deps
    this.#projection = projection
    this.#heads = heads
  }

  /**
   * Signs every log that is due according to the projection, and appends the checkpoints. If another process is first, ours is dropped. Once aborted,
   * no more logs are signed; the next pass signs them.
   */
  async signDue(signal?: AbortSignal): Promise<readonly SignedCheckpoint[]> {
    const isAborted = (): boolean => signal?.aborted === true
    // Events are missing that no log can name. One of them may have belonged to any tenant, and no tree without it may be signed.
    if (lossesOfStore(this.#deps.logStore.progress()).length > 0) return []
    const started = await this.#withHoles(this.#due().flatMap((row) => this.#start(row) ?? []))
    if (started.length === 0) return []
    await this.#reread(started, signal)
    if (isAborted()) return []
    const proven = started.filter((each) => this.#isProven(each))
    const signed: SignedCheckpoint[] = []
    for (let from = 0; from < proven.length && !isAborted(); from += APPENDS_AT_ONCE) {
      const appends = proven.slice(from, from + APPENDS_AT_ONCE).map((each) => this.#sign(each))
      signed.push(...(await Promise.all(appends)).filter((each) => each !== undefined))
    }
    return signed
  }

  /**
   * Rebuilds the stream heads of each log whose last checkpoint names a tree of streams that is missing from the file: after the file was rebuilt,
   * and if another process signed. Without heads, a bundle of one run would contain the headers of the whole log.
   */
  async restoreHeads(signal?: AbortSignal): Promise<void> {
    const behind = this.#deps.logStore.logsBehindHeads().filter((row) => this.#namesStreams(row))
    const started = await this.#withHoles(behind.flatMap((row) => this.#start({ ...row, size: row.signedSize }) ?? []))
    if (started.length === 0) return
    await this.#reread(started, signal)
    if (signal?.aborted === true) return
    for (const each of started) if (!this.#isProven(each)) this.#headless.add(headlessName(each.row))
  }

  #namesStreams(row: LogRow): boolean {
    const { tenant, note } = row
    if (note === undefined || this.#headless.has(headlessName(row))) return false
    const checkpoint = readCheckpoint(note, this.#projection.verifiers(tenant))
    return checkpoint !== undefined && streamsRoot(checkpoint.extensions) !== undefined
  }

  /**
   * The logs that have something to sign. After a key rotation these are all logs with new leaves, so that served checkpoints are signed with the
   * current key.
   */
  #due(): readonly LogRow[] {
    const { logStore, logKeys } = this.#deps
    const due = logStore.dueLogs()
    if (this.#signedAnew === logKeys.signer) return due
    const rows = logStore.signedTenants().flatMap((tenant) => logStore.log(tenant) ?? [])
    const former = rows.filter((row) => row.stopped === undefined && this.#isUnderFormerKey(row))
    if (former.length === 0) this.#signedAnew = logKeys.signer
    const named = new Set(due.map(({ tenant }) => tenant))
    return [...due, ...former.filter(({ tenant, size, signedSize }) => size > signedSize && !named.has(tenant))]
  }

  #isUnderFormerKey({ tenant, note }: LogRow): boolean {
    const place = this.#placeOf(tenant, note)
    return place !== undefined && place < this.#signerPlace(tenant)
  }

  /** Index of a note's key among the keys of its log, oldest first; undefined if it is none of them. */
  #placeOf(tenant: string, note: string | undefined): number | undefined {
    return note === undefined ? undefined : readCheckpoint(note, this.#projection.verifiers(tenant))?.keyPlace
  }

  #signerPlace(tenant: string): number {
    const { text } = this.#deps.logKeys.signing(this.#projection.logName(tenant))
    return this.#projection.verifiers(tenant).findIndex((verifier) => verifier.text === text)
  }

  /** The tree of the last checkpoint; undefined, with a logged error, if the stored hashes do not match the signed ones. */
  #start(row: LogRow): Reread | undefined {
    const { tenant, size, signedSize, note } = row
    try {
      const projected = this.#projection.tree(tenant)
      const tree = CompactTree.of(signedSize, projected.read)
      const last = note === undefined ? undefined : readCheckpoint(note, this.#projection.verifiers(tenant))
      if (last !== undefined && last.keyPlace > this.#signerPlace(tenant)) {
        this.#warnOfOldKey(tenant)
        return undefined
      }
      const continues = signedSize === 0 || (last?.size === signedSize && sameHash(tree.root(), last.root))
      if (continues) {
        if (this.#heads.size(tenant) > size) this.#heads.drop(tenant)
        const heads = this.#heads.grow(tenant)
        const at = this.#projection.expectation(ledgerStream(tenant))
        return { row, at, tree, root: projected.rootAt(size), heads, next: Math.min(signedSize, heads.size) }
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
    this.#alarm(
      tenant,
      'the log does not continue its last checkpoint: nothing is signed; run "countersign rebuild", then "verify"',
    )
    return undefined
  }

  /** The leaf of an event acknowledged as lost is taken from the acknowledgement, which the ledger sealed; the store has no other evidence of it. */
  async #withHoles(started: readonly Reread[]): Promise<readonly Reread[]> {
    for (const each of started)
      if (each.row.holes !== undefined) each.lost = (await this.#projection.acknowledged(each.row.tenant)).leaves
    return started
  }

  /** Reads all logs with many new leaves in one pass over the store, from the first new leaf to the last, and the others leaf by leaf. */
  async #reread(due: readonly Reread[], signal: AbortSignal | undefined): Promise<void> {
    const many = due.filter(({ row, next }) => row.size - next > READ_SINGLY)
    for (const each of due) if (!many.includes(each)) await this.#rereadSingly(each, signal)
    if (many.length > 0) await this.#rereadTogether(many, signal)
  }

  async #rereadSingly(reread: Reread, signal: AbortSignal | undefined): Promise<void> {
    const { store, logStore } = this.#deps
    const { row, next } = reread
    for (const { position } of logStore.leaves(row.tenant, next, row.size)) {
      const record = await store.recordAt(position)
      if (record === undefined || signal?.aborted === true) return
      this.#grow(reread, record)
    }
  }

  async #rereadTogether(due: readonly Reread[], signal: AbortSignal | undefined): Promise<void> {
    const { store, logStore } = this.#deps
    const byTenant = new Map(due.map((each) => [each.row.tenant, each]))
    const ends = due.map(({ row }) => logStore.leaf(row.tenant, row.size - 1)?.position ?? '')
    const starts = due.map(({ row, next }) => logStore.leaf(row.tenant, next - 1)?.position)
    const until = ends.reduce((a, b) => (store.comparePositions(a, b) >= 0 ? a : b))
    const after = starts.reduce((a, b) =>
      a === undefined || b === undefined ? undefined : store.comparePositions(a, b) <= 0 ? a : b,
    )
    for await (const page of store.readAll({ after, until })) {
      if (signal?.aborted === true) return
      for (const record of page) {
        const reread = byTenant.get(logTenant(record.stream) ?? '')
        if (reread !== undefined) this.#grow(reread, record)
      }
    }
  }

  /** Takes only the record of the next leaf with unchanged bytes; other records, and records that changed since they were read, are ignored. */
  #grow(reread: Reread, record: ReadRecord): void {
    this.#growLost(reread)
    if (reread.next >= reread.row.size) return
    const { header, stream } = record
    if (!header.includes(`"dataDigest":"${dataDigest(record.salt, record.data)}"`)) return
    if (!header.includes(`"stream":${JSON.stringify(stream)}`)) return
    const leaf = leafHash(header)
    this.#growBy(reread, stream, leaf)
  }

  #growLost(reread: Reread): void {
    for (;;) {
      const lost = reread.next < reread.row.size ? reread.lost?.get(reread.next) : undefined
      if (lost === undefined || !this.#growBy(reread, lost.stream, digestBytes(lost.digest))) return
    }
  }

  #growBy(reread: Reread, stream: string, leaf: Uint8Array): boolean {
    const { tree, heads, next } = reread
    if (!sameHash(leaf, this.#projectedLeaf(reread))) return false
    if (next >= heads.size && !heads.add(stream, leaf)) return false
    if (next >= tree.size) tree.append(leaf)
    reread.next += 1
    return true
  }

  /** Hash of the next leaf according to the projection. */
  #projectedLeaf(reread: Reread): Uint8Array {
    const { row, next } = reread
    const index = Math.floor(next / TILE_WIDTH)
    if (reread.tile?.index !== index) {
      reread.tile = { index, hashes: this.#deps.logStore.tile(row.tenant, 0, index) ?? new Uint8Array(0) }
    }
    const at = (next % TILE_WIDTH) * HASH_BYTES
    return reread.tile.hashes.subarray(at, at + HASH_BYTES)
  }

  #isProven({ row, tree, root, heads }: Reread): boolean {
    if (tree.size === row.size && sameHash(tree.root(), root)) return heads.save() && heads.size === row.size
    this.#heads.drop(row.tenant)
    this.#alarm(
      row.tenant,
      'the stored events are not those that were read before: nothing is signed; run "countersign verify"',
    )
    return false
  }

  async #sign({ row: { tenant, size }, at, root }: Reread): Promise<SignedCheckpoint | undefined> {
    if (at === undefined) {
      this.#alarm(tenant, `${ledgerStream(tenant)} was not written by this ledger: no checkpoint can be recorded`)
      return undefined
    }
    const signer = noteSigner(this.#projection.logName(tenant), this.#deps.logKeys.signer)
    const { verifier } = signer
    const streams = await this.#heads.root(tenant, size)
    // The file was rebuilt or its heads were dropped in the meantime. The current heads are not those of this tree; the next pass signs.
    if (streams === undefined) return undefined
    const extensions = [streamsLine(streams)]
    const text = formatCheckpoint({ origin: verifier.name, size, root, extensions })
    const note = signNote(text, [signer])
    if (readCheckpoint(note, [verifier])?.size !== size)
      throw new TypeError('the signature does not verify under its own key')

    const data = { v: 1, origin: verifier.name, size, root: digestText(root), note }
    const result = await this.#deps.append({ tenant, type: 'CheckpointSigned', data, at })
    // On any other result, the next pass reads the current state and continues from there.
    return result.kind === 'appended' ? { tenant, note } : undefined
  }

  #warnOfOldKey(tenant: string): void {
    const { logKeys, log } = this.#deps
    if (this.#warnedOf === logKeys.signer) return
    this.#warnedOf = logKeys.signer
    log.warn(
      { tenant },
      "another process signs the logs with a newer key: this one signs none until it has the ledger's newest key file",
    )
  }

  #alarm(tenant: string, message: string): void {
    this.#deps.log.error({ tenant }, message)
  }
}

const headlessName = ({ tenant, signedSize }: LogRow): string => `${tenant} ${signedSize}`
