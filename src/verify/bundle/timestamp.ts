/** @module The time-stamp of a checkpoint (RFC 3161). */

import { STAMP } from './bundle-files.ts'
import { type Checkpoint, type SignedHead, streamsOf } from './checkpoint.ts'
import { type Bundle, fileOf, jsonOf, textOf } from './file-text.ts'
import { base64, continues, HASH_BYTES, sha256 } from './hashes.ts'
import type { BundleOptions } from './options.ts'
import { type About, type Found, Stop } from './verdict.ts'
import type { VerifierKey } from './verifier-keys.ts'

interface Stamped {
  readonly checkpoint: Checkpoint
  readonly key: VerifierKey
  readonly options: BundleOptions
}

/**
 * The time-stamp (RFC 3161): a token for the text of this log's checkpoint of some earlier size, which the log continues. What the authority
 * says counts as far as you trust it: its signature is for openssl to check, or for whoever takes the bytes by `onTimestamp`. Gives what
 * was time-stamped.
 */
export function checkStamp(bundle: Bundle, { checkpoint, key, options }: Stamped, found: Found): SignedHead {
  const text = textOf(bundle, STAMP.text)
  const reply = fileOf(bundle, STAMP.reply)
  const [origin, size, root = '', ...more] = text.slice(0, -1).split('\n')
  const what = 'the checkpoint that was time-stamped'
  const stamped = { what, text, size: Number(size), root: base64(root) as Buffer, streams: streamsOf(more) }
  const isCheckpoint =
    /^[1-9]\d{0,15}$/.test(size as string) && stamped.root?.length === HASH_BYTES && !more.includes('')
  if (!isCheckpoint || !text.endsWith('\n') || origin !== key.name)
    throw new Stop('TAMPERED', 'timestamp', `${STAMP.text} is no checkpoint of the log ${key.name}`)
  const proofText = textOf(bundle, STAMP.proof)
  const { consistency } = jsonOf<{ readonly consistency: readonly string[] }>(proofText, STAMP.proof)
  const isHash = (each: unknown) => typeof each === 'string' && base64(each)?.length === HASH_BYTES
  const isList = Array.isArray(consistency) && consistency.length <= 128 && consistency.every(isHash)
  const isForm = isList && proofText === `${JSON.stringify({ consistency })}\n`
  if (!isForm || !continues(stamped, checkpoint, consistency.map(base64) as Buffer[]))
    throw new Stop('TAMPERED', 'timestamp', 'the log does not continue the checkpoint that was time-stamped')
  const bytes = reply.read(0, reply.size > STAMP_MAX_BYTES ? 0 : reply.size)
  const said = tokenOf(bytes)
  if (said === undefined)
    throw new Stop('TAMPERED', 'timestamp', `${STAMP.reply} is no TimeStampResp of RFC 3161 with a token`)
  if (!said.imprint.equals(sha256(text)))
    throw new Stop('TAMPERED', 'timestamp', `the token in ${STAMP.reply} is for other bytes than ${STAMP.text}`)
  ;(found.about as About).timestamp = { size: stamped.size, time: said.time }
  options.onTimestamp?.({ text: Buffer.from(text), reply: bytes })
  return stamped
}

const STAMP_MAX_BYTES = 16 * 1024
const SHA256_OID = '608648016503040201'
const SIGNED_DATA_OID = '2a864886f70d010702'
const TST_INFO_OID = '2a864886f70d0109100104'

/** Imprint and time of the token in a TimeStampResp; undefined for anything else. */
function tokenOf(reply: Buffer): { readonly imprint: Buffer; readonly time: string } | undefined {
  try {
    const [response, ...none] = der(reply)
    const [status, token, ...more] = response.within(0x30)
    if (none.length + more.length > 0 || !['00', '01'].includes(status.within(0x30)[0].hex(0x02))) return undefined
    const [type, content] = token.within(0x30)
    if (type.hex(0x06) !== SIGNED_DATA_OID) return undefined
    const [, , encapsulated] = content.within(0xa0)[0].within(0x30)
    const [contentType, info] = encapsulated.within(0x30)
    if (contentType.hex(0x06) !== TST_INFO_OID) return undefined
    const fields = der(info.within(0xa0)[0].octets())[0].within(0x30)
    const [algorithm, imprint] = fields[2].within(0x30)
    if (algorithm.within(0x30)[0].hex(0x06) !== SHA256_OID) return undefined
    const time = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(fields[4].bytes(0x18).toString('latin1'))
    if (time === null) return undefined
    const [, year, month, day, hours, minutes, seconds, fraction = ''] = time
    return { imprint: imprint.bytes(0x04), time: `${year}-${month}-${day}T${hours}:${minutes}:${seconds}${fraction}Z` }
  } catch {
    return undefined
  }
}

/** Read by place: one that is not there throws where it is used, and then the whole is no token. */
type Values = readonly [DerValue, DerValue, DerValue, DerValue, DerValue, ...DerValue[]]

interface DerValue {
  bytes(expected: number): Buffer
  octets(): Buffer
  within(expected: number): Values
  hex(expected: number): string
}

/** The values that stand side by side in DER, definite lengths alone; read one level at a time. */
function der(bytes: Buffer): Values {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1)
    const count = first < 0x80 ? 0 : first - 0x80
    const length = count === 0 ? first : bytes.readUIntBE(at + 2, count)
    const begin = at + 2 + count
    const body = bytes.subarray(begin, begin + length)
    if (first === 0x80 || body.length !== length) throw new RangeError('not DER')
    values.push(derValue(bytes[at] as number, body))
    at = begin + length
  }
  return values as readonly DerValue[] as Values
}

function derValue(tag: number, body: Buffer): DerValue {
  const bytes = (expected: number) => {
    if (tag !== expected) throw new TypeError('another tag')
    return body
  }
  const within = (expected: number) => der(bytes(expected))
  // Some write it in pieces.
  const octets = () => (tag === 0x24 ? Buffer.concat(within(0x24).map((piece) => piece.bytes(0x04))) : bytes(0x04))
  return { bytes, octets, within, hex: (expected: number) => bytes(expected).toString('hex') }
}
