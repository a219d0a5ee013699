/** @module The request for a time-stamp token: SHA-256 of the data to be stamped, and a nonce (RFC 3161, section 2.4.1). */
import { Integer, Null, OctetString } from 'asn1js'
import { AlgorithmIdentifier, MessageImprint, TimeStampReq } from 'pkijs'

export const SHA256_OID = '2.16.840.1.101.3.4.2.1'
const SIGN_BIT = 0x80

/** The request in DER. `digest`: 32 bytes; `nonce`: 8 bytes, used as given. The request asks for the authority's certificates along with the token. */
export function timestampRequest({ digest, nonce }: { digest: Uint8Array; nonce: Uint8Array }): Uint8Array {
  const request = new TimeStampReq({
    version: 1,
    messageImprint: new MessageImprint({
      hashAlgorithm: new AlgorithmIdentifier({ algorithmId: SHA256_OID, algorithmParams: new Null() }),
      hashedMessage: new OctetString({ valueHex: Uint8Array.from(digest).buffer }),
    }),
    nonce: new Integer({ valueHex: positive(nonce).buffer }),
    certReq: true,
  })
  return new Uint8Array(request.toSchema().toBER())
}

/** The bytes of a non-negative DER integer: without redundant leading zeros, but with one before a set sign bit. */
export function positive(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? Uint8Array.of(0) : Uint8Array.from(bytes.subarray(first))
  return (digits[0] ?? 0) >= SIGN_BIT ? Uint8Array.from([0, ...digits]) : digits
}
