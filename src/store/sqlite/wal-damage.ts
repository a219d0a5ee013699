/**
 * @module Distinguishes damage in the WAL of a store from the normal result of a crash. Each commit is fsynced before the next one begins, so a crash
 * truncates at most the last transaction. Frames of a later transaction after a broken frame prove that the broken frame was complete once, and so does a
 * frame with a single-bit error. SQLite silently drops all of these frames.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import {
  distance,
  FRAME_HEADER_BYTES,
  frameSum,
  isOneBitOff,
  readFrame,
  readWalHeader,
  type Sum,
  same,
  WAL_HEADER_BYTES,
  type WalHeader,
} from './wal-frames.ts'

/** Default page size of SQLite, used unless the WAL header says otherwise. */
const PAGE_BYTES = 4_096
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536
const FRAMES_AT_ONCE = 256

export interface WalState {
  /**
   * `torn`: an append that was being written when the machine stopped is incomplete; no caller was told that it succeeded. `damaged`: complete frames
   * cannot be read, and acknowledged appends may be among them.
   */
  readonly kind: 'whole' | 'torn' | 'damaged'
  /** The first frame that SQLite does not accept, counted from 1. */
  readonly frame: number
  /** Number of frames of the WAL's current generation that SQLite drops: the broken one, the rest of its transaction, and all later ones. */
  readonly lostFrames: number
}

const WHOLE: WalState = { kind: 'whole', frame: 0, lostFrames: 0 }

/** Reads the WAL at `path`, which no process may be writing. A missing WAL counts as whole. */
export function readWalState(path: string): WalState {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return WHOLE
    throw error
  }
  try {
    return judged(file)
  } finally {
    closeSync(file)
  }
}

function judged(file: number): WalState {
  const bytes = Buffer.alloc(WAL_HEADER_BYTES)
  if (readSync(file, bytes, 0, WAL_HEADER_BYTES, 0) < WAL_HEADER_BYTES) return WHOLE
  const found = readWalHeader(bytes)
  const header = found?.checks === true ? found : oneBitMended(bytes, firstSalts(file))
  const scan = new FrameScan(header, header === found)
  for (const frame of framesOf(file, scan.frameBytes)) scan.take(frame)
  return scan.state()
}

/** Follows SQLite's rule: it accepts the WAL up to the last commit before the first frame with a wrong checksum. */
class FrameScan {
  readonly frameBytes: number
  readonly #bigEndian: boolean
  /** If the header does not give the salts, they are undefined until the first frame. */
  #salts: Sum | undefined
  /** Stored checksum of the previous frame. */
  #before: Sum
  /** SQLite reads no frames after a header with a wrong checksum. */
  readonly #isRead: boolean
  #frames = 0
  #lastCommit = 0
  #broken = 0
  #brokenCommits = false
  #oneBitOff = false
  #lost = 0
  /**
   * Frames after the broken one whose checksum continues that of their predecessor: the commits among them, and the frames after the first of those
   * commits.
   */
  #laterCommits = 0
  #laterFrames = 0

  /** `header` is the file's own, or the one reconstructed by flipping one bit; undefined if neither is valid. */
  constructor(header: WalHeader | undefined, isOwn: boolean) {
    this.frameBytes = FRAME_HEADER_BYTES + (header?.pageBytes ?? PAGE_BYTES)
    this.#bigEndian = header?.bigEndian ?? false
    this.#isRead = header !== undefined && isOwn
    this.#oneBitOff = header !== undefined && !isOwn
    this.#salts = header?.salts
    this.#before = header?.stored ?? { s1: 0, s2: 0 }
  }

  take(bytes: Uint8Array): void {
    const { page, commitPages, salts, stored } = readFrame(bytes)
    this.#frames += 1
    if (page !== 0) this.#salts ??= salts
    const isOwn = this.#salts !== undefined && same(salts, this.#salts)
    const checks = page !== 0 && same(frameSum(bytes, this.#before, this.#bigEndian), stored)
    if (this.#broken === 0 && this.#isRead && isOwn && checks) {
      if (commitPages > 0) this.#lastCommit = this.#frames
    } else if (this.#broken === 0) {
      this.#breakAt(bytes, { isOwn, checks, commitPages, salts, stored })
    } else if (isOwn) {
      this.#lost += 1
      if (checks && this.#laterCommits > 0) this.#laterFrames += 1
      if (checks && commitPages > 0) this.#laterCommits += 1
    }
    this.#before = stored
  }

  #breakAt(bytes: Uint8Array, frame: BrokenFrame): void {
    const { isOwn, checks, commitPages, salts, stored } = frame
    this.#broken = this.#frames
    this.#brokenCommits = isOwn && commitPages > 0
    if (!this.#isRead) {
      this.#lost = isOwn ? 1 : 0
      return
    }
    const question = { before: this.#before, stored, bigEndian: this.#bigEndian }
    const sum = frameSum(bytes, this.#before, this.#bigEndian)
    this.#oneBitOff = isOwn
      ? distance(sum, stored) <= 1 || isOneBitOff(bytes, question)
      : checks && distance(salts, this.#salts ?? salts) === 1
    if (isOwn || this.#oneBitOff) this.#lost = this.#frames - this.#lastCommit
  }

  state(): WalState {
    if (this.#broken === 0 || this.#lost === 0) return WHOLE
    const later = this.#laterFrames > 0 || (this.#brokenCommits && this.#laterCommits > 0)
    // A header is fsynced before the first frame after it is written: frames that continue each other show that the header was whole once.
    const headless = !this.#isRead && this.#laterCommits > 0
    const kind = this.#oneBitOff || later || headless ? 'damaged' : 'torn'
    return { kind, frame: this.#broken, lostFrames: this.#lost }
  }
}

interface BrokenFrame {
  readonly isOwn: boolean
  readonly checks: boolean
  readonly commitPages: number
  readonly salts: Sum
  readonly stored: Sum
}

function firstSalts(file: number): Sum | undefined {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES)
  const read = readSync(file, bytes, 0, FRAME_HEADER_BYTES, WAL_HEADER_BYTES)
  return read < FRAME_HEADER_BYTES ? undefined : readFrame(bytes).salts
}

/** Reconstructs the header before one bit flipped. More than one bit may give a correct checksum; the salts of the first frame decide which. */
function oneBitMended(bytes: Uint8Array, salts: Sum | undefined): WalHeader | undefined {
  const tried = Buffer.from(bytes)
  for (let bit = 0; bit < WAL_HEADER_BYTES * 8; bit += 1) {
    tried.set(bytes)
    tried[bit >> 3] = (tried[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    const header = readWalHeader(tried)
    const fits = header !== undefined && salts !== undefined && same(header.salts, salts)
    if (fits && header.checks && isPageSize(header.pageBytes)) return header
  }
  return undefined
}

function isPageSize(bytes: number): boolean {
  return bytes >= PAGE_BYTES_MIN && bytes <= PAGE_BYTES_MAX && (bytes & (bytes - 1)) === 0
}

function* framesOf(file: number, frameBytes: number): Generator<Uint8Array> {
  const chunk = Buffer.alloc(frameBytes * FRAMES_AT_ONCE)
  const end = fstatSync(file).size
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= end; ) {
    const read = readSync(file, chunk, 0, chunk.length, at)
    const whole = Math.floor(read / frameBytes)
    if (whole === 0) return
    for (let frame = 0; frame < whole; frame += 1) yield chunk.subarray(frame * frameBytes, (frame + 1) * frameBytes)
    at += whole * frameBytes
  }
}
