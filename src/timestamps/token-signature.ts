/**
 * @module Checks that a time-stamp token was signed by the certificate that it names, that this certificate may stamp times, and, if authorities are trusted,
 * that it chains to one of them. Revocation is not checked.
 */
import { createHash } from 'node:crypto'
import type { Constructed, OctetString, Sequence } from 'asn1js'
import { Certificate, ExtKeyUsage, type SignedData } from 'pkijs'

const EXT_KEY_USAGE_OID = '2.5.29.37'
const TIME_STAMPING_OID = '1.3.6.1.5.5.7.3.8'
const SIGNING_CERTIFICATE_OID = '1.2.840.113549.1.9.16.2.12'
const SIGNING_CERTIFICATE_V2_OID = '1.2.840.113549.1.9.16.2.47'
/** The algorithms of ESSCertIDv2 that Node supports, with their names in Node. */
const HASHES: ReadonlyMap<string, string> = new Map([
  ['2.16.840.1.101.3.4.2.1', 'sha256'],
  ['2.16.840.1.101.3.4.2.2', 'sha384'],
  ['2.16.840.1.101.3.4.2.3', 'sha512'],
])

export type SignatureCheck =
  /** `by`: subject of the signer's certificate, for display. */
  { readonly ok: true; readonly by: string } | { readonly ok: false; readonly message: string }

/** The certificates of a PEM file. Throws `TypeError` if it contains none. */
export function readAuthorities(pem: string): readonly Certificate[] {
  const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/g)]
  if (blocks.length === 0) throw new TypeError('it holds no certificate in PEM')
  return blocks.map(([, base64 = '']) => Certificate.fromBER(Buffer.from(base64, 'base64')))
}

/** `data`: the stamped bytes; if `trusted` is undefined, only the signature is checked. Never rejects, whatever the token contains. */
export async function checkTokenSignature(
  signed: SignedData,
  { data, trusted }: { readonly data: Uint8Array; readonly trusted?: readonly Certificate[] | undefined },
): Promise<SignatureCheck> {
  try {
    const found = await signed.verify({
      signer: 0,
      data: Uint8Array.from(data).buffer,
      trustedCerts: [...(trusted ?? [])],
      checkChain: trusted !== undefined,
      // Checks the chain at the time of the token: an authority's certificate expires, but its stamps remain valid.
      extendedMode: true,
    })
    const certificate = found.signerCertificate
    if (found.signatureVerified !== true || !(certificate instanceof Certificate))
      return { ok: false, message: 'the signature does not fit its certificate' }
    if (!isForTimes(certificate))
      return { ok: false, message: 'the certificate of the signer is not one for time-stamping alone' }
    if (!isNamed(signed, certificate))
      return { ok: false, message: 'the token does not name the certificate that signed it (ESSCertID)' }
    return { ok: true, by: subjectOf(certificate) }
  } catch (error) {
    return { ok: false, message: (error as Error).message }
  }
}

/** RFC 3161, section 2.3: the usage must be critical and the only purpose. */
function isForTimes({ extensions = [] }: Certificate): boolean {
  const usage = extensions.find(({ extnID }) => extnID === EXT_KEY_USAGE_OID)
  if (usage?.critical !== true || !(usage.parsedValue instanceof ExtKeyUsage)) return false
  const { keyPurposes } = usage.parsedValue
  return keyPurposes.length === 1 && keyPurposes[0] === TIME_STAMPING_OID
}

/** RFC 3161, section 2.4.1, and RFC 5816: the first ESSCertID must be the digest of the signer's certificate. */
function isNamed({ signerInfos }: SignedData, certificate: Certificate): boolean {
  const attributes = signerInfos[0]?.signedAttrs?.attributes ?? []
  const attribute = attributes.find(
    ({ type }) => type === SIGNING_CERTIFICATE_V2_OID || type === SIGNING_CERTIFICATE_OID,
  )
  const ids = (attribute?.values[0] as Sequence | undefined)?.valueBlock.value[0] as Constructed | undefined
  const first = (ids?.valueBlock.value[0] as Sequence | undefined)?.valueBlock.value ?? []
  const digestAt = first.findIndex(({ idBlock }) => idBlock.tagClass === 1 && idBlock.tagNumber === OCTET_STRING)
  const digest = (first[digestAt] as OctetString | undefined)?.valueBlock.valueHexView
  const named = digestAt > 0 ? HASHES.get(oidOf(first[0] as Sequence)) : 'sha256'
  const hash = attribute?.type === SIGNING_CERTIFICATE_OID ? 'sha1' : named
  if (digest === undefined || hash === undefined) return false
  const own = createHash(hash)
    .update(new Uint8Array(certificate.toSchema(false).toBER()))
    .digest()
  return own.equals(digest)
}

const OCTET_STRING = 4

function oidOf(algorithm: Sequence): string {
  return String((algorithm.valueBlock.value[0] as { getValue?: () => unknown } | undefined)?.getValue?.() ?? '')
}

function subjectOf({ subject }: Certificate): string {
  return subject.typesAndValues
    .map(({ value }) => String(value.valueBlock.value))
    .join(', ')
    .slice(0, 200)
}
