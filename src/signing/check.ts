/** @module Checking one stored record: is it the very event that was sealed for this place (REC-1 to REC-3, SEAL-4 to SEAL-9). */
import { timingSafeEqual } from 'node:crypto'
import { type Header, type RecordBytes, SALT_BYTES, type StoredRecord } from '../../schemas/header.ts'
import { isCanonicalJson, isCanonicalUtf8 } from './canonical-scan.ts'
import { bytesDigest, dataDigest, recordDigest } from './digests.ts'
import { readHeader } from './header-reader.ts'
import { type KeyOrder, type RunKeys, ringIndex } from './key-ring.ts'
import type { ReadHeader } from './plain-header.ts'
import { headerMac } from './seal.ts'
import { streamTenant } from './stream-tenant.ts'

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
  | 'data-not-canonical'
  | 'prev'
  | 'time-order'

export interface Fault {
  readonly code: FaultCode
  readonly message: string
}

/** A record and, where the store keeps them, its own columns for the place; and its bytes, where they were read as such. */
export type CheckedRecord = StoredRecord & {
  readonly stream?: string
  readonly revision?: number
  readonly bytes?: RecordBytes
}

/** What the verified events before this one say about it. */
export interface Expectation {
  readonly stream: string
  readonly revision: number
  /** Digest of the event before; undefined at revision 0 only. */
  readonly prevDigest: string | undefined
  readonly prevTime: string | undefined
  /** Ring index of the event before, 0 at first: within a stream it never falls. */
  readonly minRingIndex: number
}

/**
 * `fast` checks macs, digests and links over the stored bytes, and so every byte. `full` also shows that the body is in canonical
 * form and within the rules of input, which no later change of bytes can alter.
 */
export type CheckDepth = 'fast' | 'full'

export interface CheckKeys {
  readonly ring: KeyOrder
  readonly runKeys: RunKeys
  /** Default `full`. */
  readonly depth?: CheckDepth
}

/** A payload of full depth stands some levels down in the body of its event. */
export const BODY_MAX_DEPTH = 128

export type CheckResult =
  | { readonly ok: true; readonly header: Header; readonly digest: string; readonly ringIndex: number }
  | { readonly ok: false; readonly faults: readonly Fault[]; readonly header?: Header; readonly digest?: string }

/** The expectation of a stream's first event. */
export function firstExpectation(stream: string): Expectation {
  return { stream, revision: 0, prevDigest: undefined, prevTime: undefined, minRingIndex: 0 }
}

/** The expectation of the event after one that passed. */
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
 * Checks one record. Every fault is named, not only the first; nothing that a store may hold makes it throw. `read` is what its header reads as,
 * where the caller has it.
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

/** What `checkRecord` finds wrong with a record whose header was read; its digest, which only the event behind it is held to, is not made. */
export function faultsIn(record: CheckedRecord, read: ReadHeader, expected: Expectation, keys: CheckKeys): Fault[] {
  const { header } = read
  const faults: Fault[] = []
  checkPlace(record, header, expected, faults)
  checkLinks(header, expected, faults)
  checkSeal(read, keys, expected, faults)
  checkData(record, header, keys.depth ?? 'full', faults)
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
  // Sealing writes `clock` only where the writer's clock was behind.
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
  // No key is derived for a name that no stream of ours has: derivation takes names of bounded length only.
  const key = named ? keys.runKeys.keyFor(header.kid, header.tenant, header.stream) : undefined
  if (key === undefined || !sameMac(headerMac(read.parts, key), header.mac)) {
    faults.push({ code: 'mac', message: 'the mac does not fit the header' })
  }
}

const MAC_CHARS = 43
const computedMac = Buffer.alloc(MAC_CHARS)
const storedMac = Buffer.alloc(MAC_CHARS)

/** One is computed, the other of the schema's pattern, which only the canonical spelling of 32 bytes fits. */
function sameMac(computed: string, stored: string): boolean {
  if (computed.length !== MAC_CHARS || stored.length !== MAC_CHARS) return false
  computedMac.write(computed, 'latin1')
  storedMac.write(stored, 'latin1')
  return timingSafeEqual(computedMac, storedMac)
}

function checkData(record: CheckedRecord, header: Header, depth: CheckDepth, faults: Fault[]): void {
  if (sealedDigest(record) !== header.dataDigest) {
    faults.push({ code: 'data-digest', message: 'the body is not the one that was sealed' })
  }
  if (depth === 'full' && !isCanonical(record)) {
    faults.push({ code: 'data-not-canonical', message: 'the body is not canonical JSON' })
  }
}

/** Undefined where the salt is none. */
function sealedDigest(record: CheckedRecord): string | undefined {
  const { bytes } = record
  if (bytes !== undefined) return bytesDigest(bytes.block.subarray(bytes.data - SALT_BYTES, bytes.dataEnd))
  return record.salt.length === SALT_BYTES ? dataDigest(record.salt, record.data) : undefined
}

/** As `recordDigest`: the zero before the header is the prefix of a leaf. */
function leafDigest({ block, dataEnd, headerEnd }: RecordBytes): string {
  return bytesDigest(block.subarray(dataEnd, headerEnd))
}

function isCanonical(record: CheckedRecord): boolean {
  const { bytes } = record
  if (bytes === undefined) return isCanonicalJson(record.data, BODY_MAX_DEPTH)
  return isCanonicalUtf8(bytes.block, bytes.data, bytes.dataEnd, BODY_MAX_DEPTH)
}
