/** @module Verification of one stored record: whether it is the very event that was sealed for this position (REC-1 to REC-3, SEAL-4 to SEAL-9). */
import { timingSafeEqual } from 'node:crypto'
import { type Header, type RecordBytes, SALT_BYTES, type StoredRecord } from '../../schemas/header.ts'
import { isCanonicalJson, isCanonicalUtf8 } from './canonical-scan.ts'
import { bytesDigest, dataDigest, recordDigest } from './digests.ts'
import { readHeader } from './header-reader.ts'
import { type KeyOrder, type RunKeys, ringIndex } from './key-ring.ts'
import type { ReadHeader } from './plain-header.ts'
import { headerMac } from './seal.ts'
import { isArchivable, streamTenant } from './stream-tenant.ts'

export type FaultCode =
  | 'header-not-json'
  | 'header-not-canonical'
  | 'header-schema'
  | 'unknown-version'
  | 'wrong-stream'
  | 'wrong-revision'
  | 'tenant'
  | 'unknown-key'
  | 'key-order'
  | 'mac'
  | 'data-digest'
  /** The body is in an archive that is not in its folder, or cannot be read. Nothing is known to be wrong with it. */
  | 'archive-missing'
  /** The archive holds something else than the body that was sealed. */
  | 'archive-damaged'
  | 'data-not-canonical'
  | 'prev'
  | 'time-order'

export interface Fault {
  readonly code: FaultCode
  readonly message: string
}

/** A record, with the store's own columns for its position if it has them, and its bytes if they were read as such. */
export type CheckedRecord = StoredRecord & {
  readonly stream?: string
  readonly revision?: number
  readonly bytes?: RecordBytes
}

/** Requirements on this event that follow from the verified events before it. */
export interface Expectation {
  readonly stream: string
  readonly revision: number
  /** Digest of the previous event; undefined at revision 0 only. */
  readonly prevDigest: string | undefined
  readonly prevTime: string | undefined
  /** Ring index of the previous event, initially 0: within a stream the index never decreases. */
  readonly minRingIndex: number
}

/**
 * `fast` checks MACs, digests and links over the stored bytes, and so covers every byte. `full` also checks that the body is canonical and
 * obeys the rules for input, which no later change of bytes can alter.
 */
export type CheckDepth = 'fast' | 'full'

export interface CheckKeys {
  readonly ring: KeyOrder
  readonly runKeys: RunKeys
  /** Default `full`. */
  readonly depth?: CheckDepth
  /** Accept an event whose body is in an archive that is elsewhere: its header alone is checked. For a reader that needs no body, or asks for it separately. */
  readonly headersSuffice?: boolean
  /** Check the header alone of an event whose body is in an archive, whatever the archive holds: a leaf is made of the header. */
  readonly leavesSuffice?: boolean
}

/** Larger than the limit for input, because a payload of full depth is nested some levels down in the body of its event. */
export const BODY_MAX_DEPTH = 128

export type CheckResult =
  | { readonly ok: true; readonly header: Header; readonly digest: string; readonly ringIndex: number }
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly header?: Header; readonly digest?: string }

/** The expectation of a stream's first event. */
export function firstExpectation(stream: string): Expectation {
  return { stream, revision: 0, prevDigest: undefined, prevTime: undefined, minRingIndex: 0 }
}

/** The expectation of the event that follows a valid one. */
export function nextExpectation(checked: CheckResult & { readonly ok: true }): Expectation {
  const { header, digest, ringIndex: index } = checked
  return {
    stream: header.stream,
    revision: header.revision + 1,
    prevDigest: digest,
    prevTime: header.time,
    minRingIndex: index,
  }
}

/**
 * Checks one record and reports every fault, not only the first. Never throws, whatever the store holds. `read` is the result of reading
 * its header, if the caller has it.
 */
export function checkRecord(
  record: CheckedRecord,
  expected: Expectation,
  keys: CheckKeys,
  read = readHeader(record.header),
): CheckResult {
  if (!read.ok) return { ok: false, faults: [read] }

  const { header } = read
  const { bytes } = record
  const digest = bytes === undefined ? recordDigest(record.header) : leafDigest(bytes)
  const faults = faultsIn(record, read, expected, keys)
  if (faults.length > 0) return { ok: false, faults, header, digest }
  return { ok: true, header, digest, ringIndex: ringIndex(keys.ring, header.kid) }
}

/** The faults of a record whose header was read. The record's digest is not computed, since only the next event is checked against it. */
export function faultsIn(record: CheckedRecord, read: ReadHeader, expected: Expectation, keys: CheckKeys): Fault[] {
  const { header } = read
  const faults: Fault[] = []
  checkPlace(record, header, expected, faults)
  checkLinks(header, expected, faults)
  checkSeal(read, keys, expected, faults)
  checkData(record, header, keys, faults)
  return faults
}

function checkPlace(record: CheckedRecord, header: Header, expected: Expectation, faults: Fault[]): void {
  const { stream, revision } = record
  if (header.stream !== expected.stream || (stream !== undefined && stream !== header.stream)) {
    faults.push({ code: 'wrong-stream', message: `sealed for the stream ${header.stream}` })
  }
  if (header.revision !== expected.revision || (revision !== undefined && revision !== header.revision)) {
    faults.push({ code: 'wrong-revision', message: `sealed for revision ${header.revision}` })
  }
}

function checkLinks(header: Header, expected: Expectation, faults: Fault[]): void {
  if (header.prev !== expected.prevDigest) {
    faults.push({ code: 'prev', message: 'does not continue the event before it' })
  }
  if (expected.prevTime !== undefined && header.time < expected.prevTime) {
    faults.push({ code: 'time-order', message: 'its time lies before that of the event before it' })
  }
  // Sealing writes `clock` only if the writer's clock was behind.
  if (header.clock !== undefined && header.clock >= header.time) {
    faults.push({ code: 'time-order', message: 'the reading of the clock is not behind its time' })
  }
}

function checkSeal(read: ReadHeader, keys: CheckKeys, expected: Expectation, faults: Fault[]): void {
  const { header } = read
  const named = streamTenant(header.stream) === header.tenant
  if (!named) faults.push({ code: 'tenant', message: 'the tenant is not the one in the name of the stream' })
  const index = ringIndex(keys.ring, header.kid)
  if (index < 0) {
    faults.push({ code: 'unknown-key', message: 'sealed with a key that the ring does not hold' })
    return
  }
  if (index < expected.minRingIndex) {
    faults.push({ code: 'key-order', message: 'sealed with an older key than the event before it' })
  }
  // No key is derived for an invalid stream name, because derivation takes names of bounded length only.
  const key = named ? keys.runKeys.keyFor(header.kid, header.tenant, header.stream) : undefined
  if (key === undefined || !sameMac(headerMac(read.parts, key), header.mac)) {
    faults.push({ code: 'mac', message: 'the mac does not fit the header' })
  }
}

const MAC_CHARS = 43
const computedMac = Buffer.alloc(MAC_CHARS)
const storedMac = Buffer.alloc(MAC_CHARS)

/** Compares the computed MAC with the stored one in constant time. The schema's pattern admits only the canonical spelling of 32 bytes. */
function sameMac(computed: string, stored: string): boolean {
  if (computed.length !== MAC_CHARS || stored.length !== MAC_CHARS) return false
  computedMac.write(computed, 'latin1')
  storedMac.write(stored, 'latin1')
  return timingSafeEqual(computedMac, storedMac)
}

function checkData(
  record: CheckedRecord,
  header: Header,
  { depth = 'full', headersSuffice = false, leavesSuffice = false }: CheckKeys,
  faults: Fault[],
): void {
  const { archive } = record
  // Nothing else is ever archived: elsewhere such a row was forged.
  const isArchived = archive !== undefined && isArchivable(header.stream)
  if (isArchived && leavesSuffice) return
  if (isArchived && !archive.exists) {
    const message = `its body is in the archive ${archive.name}.jsonl, which is not in its folder, or cannot be read: put it back there`
    if (!headersSuffice) faults.push({ code: 'archive-missing', message })
    return
  }
  if (sealedDigest(record) !== header.dataDigest) {
    const message = `the body in the archive ${archive?.name}.jsonl is not the one that was sealed: put back a copy of it`
    if (archive !== undefined) faults.push({ code: 'archive-damaged', message })
    else faults.push({ code: 'data-digest', message: 'the body is not the one that was sealed' })
    if (archive !== undefined) return
  }
  if (depth === 'full' && !isCanonical(record)) {
    faults.push({ code: 'data-not-canonical', message: 'the body is not canonical JSON' })
  }
}

/** Undefined if the salt is not valid. */
function sealedDigest(record: CheckedRecord): string | undefined {
  const { bytes } = record
  if (bytes !== undefined) return bytesDigest(bytes.block.subarray(bytes.data - SALT_BYTES, bytes.dataEnd))
  return record.salt.length === SALT_BYTES ? dataDigest(record.salt, record.data) : undefined
}

/** As `recordDigest`: the zero byte before the header is the prefix of a leaf. */
function leafDigest({ block, dataEnd, headerEnd }: RecordBytes): string {
  return bytesDigest(block.subarray(dataEnd, headerEnd))
}

function isCanonical(record: CheckedRecord): boolean {
  const { bytes } = record
  if (bytes === undefined) return isCanonicalJson(record.data, BODY_MAX_DEPTH)
  return isCanonicalUtf8(bytes.block, bytes.data, bytes.dataEnd, BODY_MAX_DEPTH)
}
