/** @module The agent's own signature over its envelope: a compact, detached JWS (RFC 7515 appendix F; SEAL-14). */
import { verify } from 'node:crypto'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { isJsonObject } from '../../schemas/json.ts'
import { fromBase64url, toBase64url } from './base64url.ts'
import { canonicalJson } from './canonical-json.ts'
import { type PublicKeyAlgorithm, type PublicKeyUse, publicKeyFromJwk } from './public-key.ts'
import { parseStrictJson } from './strict-json.ts'

export const ENVELOPE_TYP = 'countersign-envelope+jws'
/** Type of the signature over an envelope that declares moves; a signature of the type `ENVELOPE_TYP` does not cover them. */
export const ENVELOPE_WITH_MOVES_TYP = 'countersign-envelope-2+jws'

/** Leaves room for a header with a kid and a 64-byte signature. */
const SIGNATURE_MAX_CHARS = 2048

/** The members that the agent signs. Absent members are left out of the signed text. */
export interface SignedEnvelope {
  readonly ledgerId: string
  readonly tenant: string
  readonly run: string
  readonly agent: string
  /** Event digest of the established envelope that this one builds on. */
  readonly parent?: string | undefined
  readonly mode?: string | undefined
  readonly payload: Json
  readonly add?: Json | undefined
  readonly tokens?: Json | undefined
  readonly manifestHash?: string | undefined
  readonly supersedes?: Json | undefined
  readonly moves?: readonly object[] | undefined
}

type AgentSignatureFault =
  | 'malformed'
  | 'header'
  | 'typ'
  | 'critical-header'
  | 'algorithm'
  | 'key-unusable'
  | 'signature'

export type AgentSignatureResult =
  | { readonly ok: true; readonly alg: PublicKeyAlgorithm; readonly kid?: string }
  | { readonly ok: false; readonly reason: AgentSignatureFault }

const MEMBERS = [
  'ledgerId',
  'tenant',
  'run',
  'agent',
  'parent',
  'mode',
  'payload',
  'add',
  'tokens',
  'manifestHash',
  'supersedes',
  'moves',
] as const satisfies readonly (keyof SignedEnvelope)[]

/** The bytes under the signature: the JCS form of these members and no others. */
export function envelopeSigningInput(envelope: SignedEnvelope): Uint8Array {
  const signed: Record<string, Json> = {}
  for (const member of MEMBERS) {
    const value = envelope[member]
    if (value !== undefined) signed[member] = value as Json
  }
  return Buffer.from(canonicalJson(signed), 'utf8')
}

/**
 * Checks a detached JWS against the agent's registered key. The key comes from the registry alone: `jwk`, `jku`, `x5u` and `x5c` in the
 * header are ignored. Extensions (`crit`) are refused, except the unencoded payload of RFC 7797. Never throws.
 */
export function checkAgentSignature(
  jws: string,
  input: Uint8Array,
  { jwk, typ = ENVELOPE_TYP }: { readonly jwk: JsonObject; readonly typ?: string },
): AgentSignatureResult {
  const parts = split(jws)
  if (parts === undefined) return { ok: false, reason: 'malformed' }
  const header = readProtectedHeader(parts.header)
  if (header === undefined) return { ok: false, reason: 'header' }
  if (header.typ !== typ) return { ok: false, reason: 'typ' }
  if (!extensionsKnown(header)) return { ok: false, reason: 'critical-header' }

  const use = publicKeyFromJwk(jwk)
  if (use === undefined) return { ok: false, reason: 'key-unusable' }
  if (header.alg !== use.alg) return { ok: false, reason: 'algorithm' }
  if (!verifies(signedBytes(parts.header, header, input), use, parts.signature))
    return { ok: false, reason: 'signature' }
  return { ok: true, alg: use.alg, ...(typeof header.kid === 'string' && { kid: header.kid }) }
}

/** Order of the group of P-256 (FIPS 186-5; SEC 2 section 2.4.2). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/**
 * Whether an ES256 signature is in the accepted low-S form. If (r, s) verifies, so does (r, n - s) (SEC 1 section 4.1.4), and anyone can
 * compute the other. Signatures of other algorithms have only one form and are accepted here.
 */
export function isLowS(jws: string, jwk: JsonObject): boolean {
  const parts = split(jws)
  return parts === undefined || publicKeyFromJwk(jwk)?.alg !== 'ES256' || sOf(parts) <= P256_ORDER / 2n
}

/** The signature, and its second valid form with n - s in place of s. */
export function signatureSpellings(jws: string): readonly string[] {
  const parts = split(jws)
  if (parts === undefined) return [jws]
  const other = P256_ORDER - sOf(parts)
  if (other <= 0n) return [jws]
  const s = Buffer.from(other.toString(16).padStart(SIGNATURE_BYTES, '0'), 'hex')
  return [jws, `${parts.header}..${toBase64url(Buffer.concat([parts.signature.subarray(0, SIGNATURE_BYTES / 2), s]))}`]
}

function sOf({ signature }: Parts): bigint {
  return BigInt(`0x${Buffer.from(signature.subarray(SIGNATURE_BYTES / 2)).toString('hex')}`)
}

interface Parts {
  readonly header: string
  readonly signature: Uint8Array
}

const SIGNATURE_BYTES = 64

function split(jws: string): Parts | undefined {
  if (jws.length > SIGNATURE_MAX_CHARS) return undefined
  const [header, payload, signature, ...more] = jws.split('.')
  if (!header || payload !== '' || signature === undefined || more.length > 0) return undefined
  const bytes = fromBase64url(signature)
  return bytes?.length === SIGNATURE_BYTES ? { header, signature: bytes } : undefined
}

function readProtectedHeader(encoded: string): JsonObject | undefined {
  const bytes = fromBase64url(encoded)
  const parsed = bytes && parseStrictJson(bytes)
  return parsed?.ok && isJsonObject(parsed.value) ? parsed.value : undefined
}

/** RFC 7515 section 4.1.11: an extension that is not understood makes the signature invalid. */
function extensionsKnown(header: JsonObject): boolean {
  const { crit, b64 } = header
  if (crit === undefined) return b64 === undefined
  return Array.isArray(crit) && crit.length === 1 && crit[0] === 'b64' && typeof b64 === 'boolean'
}

function signedBytes(encodedHeader: string, header: JsonObject, input: Uint8Array): Uint8Array {
  const head = Buffer.from(`${encodedHeader}.`, 'ascii')
  return Buffer.concat([head, header.b64 === false ? input : Buffer.from(toBase64url(input), 'ascii')])
}

function verifies(data: Uint8Array, { alg, key }: PublicKeyUse, signature: Uint8Array): boolean {
  if (alg === 'EdDSA') return verify(null, data, key, signature)
  return verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
