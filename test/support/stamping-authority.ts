/** @module A time-stamping authority (RFC 3161) of the tests: a throw-away certificate, tokens that fit, and tokens that do not. */
import { createHash } from 'node:crypto'
import { Integer, ObjectIdentifier, OctetString, Sequence, Utf8String } from 'asn1js'
import {
  AlgorithmIdentifier,
  Attribute,
  type Certificate,
  ContentInfo,
  EncapsulatedContentInfo,
  IssuerAndSerialNumber,
  MessageImprint,
  PKIStatusInfo,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
  TimeStampReq,
  TimeStampResp,
  TSTInfo,
} from 'pkijs'
import { certificate, type KeyPair, keyPair, pem } from './certificates.ts'

const TSA_PURPOSE = '1.3.6.1.5.5.7.3.8'
const TST_INFO = '1.2.840.113549.1.9.16.1.4'

export interface StampingTwist {
  /** Instead of what was requested. */
  readonly digest?: Uint8Array
  readonly nonce?: Integer | null
  readonly time?: Date
  /** Anything but 0 gives no token. */
  readonly status?: number
  /** Another certificate than the one whose key signs. */
  readonly foreignCertificate?: boolean
  /** Changes a byte of the signature. */
  readonly brokenSignature?: boolean
  readonly withoutEssId?: boolean
}

export interface StampingAuthority {
  /** PEM of the certificate that vouches for the authority. */
  readonly ca: string
  /** TimeStampResp, DER, for a TimeStampReq. */
  readonly answer: (request: Uint8Array, twist?: StampingTwist) => Promise<Buffer>
}

export async function stampingAuthority(purpose = TSA_PURPOSE): Promise<StampingAuthority> {
  const [root, own, other] = await Promise.all([keyPair(), keyPair(), keyPair()])
  const ca = await certificate({ name: 'throw-away root', keys: root, by: root, issuer: 'throw-away root', isCa: true })
  const signer = await certificate({ name: 'tsa.test', keys: own, by: root, issuer: 'throw-away root', purpose })
  const stranger = await certificate({ name: 'tsa.test', keys: other, by: root, issuer: 'throw-away root', purpose })
  return {
    ca: pem(ca),
    answer: async (request, twist = {}) => {
      const certificates = [twist.foreignCertificate === true ? stranger : signer]
      return Buffer.from(
        await reply(TimeStampReq.fromBER(Uint8Array.from(request)), { keys: own, certificates, twist }),
      )
    },
  }
}

interface Signing {
  readonly keys: KeyPair
  readonly certificates: Certificate[]
  readonly twist: StampingTwist
}

async function reply(request: TimeStampReq, signing: Signing): Promise<ArrayBuffer> {
  const { status = 0 } = signing.twist
  const answer = new TimeStampResp({ status: new PKIStatusInfo({ status }) })
  if (status === 0) answer.timeStampToken = await token(request, signing)
  else answer.status.statusStrings = [new Utf8String({ value: 'the clock is\u0000 off' })]
  return answer.toSchema().toBER()
}

async function token(
  { messageImprint, nonce }: TimeStampReq,
  { keys, certificates, twist }: Signing,
): Promise<ContentInfo> {
  const hashedMessage =
    twist.digest === undefined
      ? messageImprint.hashedMessage
      : new OctetString({ valueHex: Uint8Array.from(twist.digest).buffer })
  const echoed = twist.nonce === null ? undefined : (twist.nonce ?? nonce)
  const info = new TSTInfo({
    version: 1,
    policy: '1.2.3.4.1',
    messageImprint: new MessageImprint({ hashAlgorithm: messageImprint.hashAlgorithm, hashedMessage }),
    serialNumber: new Integer({ value: 42 }),
    genTime: twist.time ?? new Date(),
    ...(echoed && { nonce: echoed }),
  })
  const content = info.toSchema().toBER()
  const signed = new SignedData({
    version: 3,
    encapContentInfo: new EncapsulatedContentInfo({
      eContentType: TST_INFO,
      eContent: new OctetString({ valueHex: content }),
    }),
    signerInfos: [signerInfo(content, certificates[0] as Certificate, twist)],
    certificates,
  })
  await signed.sign(keys.privateKey as CryptoKey, 0, 'SHA-256')
  if (twist.brokenSignature === true) spoil(signed)
  return new ContentInfo({ contentType: '1.2.840.113549.1.7.2', content: signed.toSchema(true) })
}

function signerInfo(content: ArrayBuffer, certificate: Certificate, { withoutEssId }: StampingTwist): SignerInfo {
  const { issuer, serialNumber } = certificate
  const attributes = [
    new Attribute({ type: '1.2.840.113549.1.9.3', values: [new ObjectIdentifier({ value: TST_INFO })] }),
    new Attribute({ type: '1.2.840.113549.1.9.4', values: [octets(sha256(content))] }),
    ...(withoutEssId === true ? [] : [essId(certificate)]),
  ]
  return new SignerInfo({
    version: 1,
    sid: new IssuerAndSerialNumber({ issuer, serialNumber }),
    digestAlgorithm: new AlgorithmIdentifier({ algorithmId: '2.16.840.1.101.3.4.2.1' }),
    signedAttrs: new SignedAndUnsignedAttributes({ type: 0, attributes }),
  })
}

/** SigningCertificateV2: the digest of the signer's certificate, by SHA-256, which needs no name. */
function essId(certificate: Certificate): Attribute {
  const own = new Sequence({ value: [octets(sha256(certificate.toSchema(false).toBER()))] })
  const ids = new Sequence({ value: [new Sequence({ value: [own] })] })
  return new Attribute({ type: '1.2.840.113549.1.9.16.2.47', values: [ids] })
}

function spoil({ signerInfos }: SignedData): void {
  const bytes = Buffer.from(signerInfos[0]?.signature.valueBlock.valueHexView ?? [])
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  if (signerInfos[0] !== undefined) signerInfos[0].signature = octets(bytes)
}

const octets = (bytes: Uint8Array): OctetString => new OctetString({ valueHex: Uint8Array.from(bytes).buffer })
const sha256 = (bytes: ArrayBuffer): Buffer => createHash('sha256').update(Buffer.from(bytes)).digest()
