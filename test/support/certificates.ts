/** @module Throw-away keys and certificates of the tests. */
import { webcrypto } from 'node:crypto'
import { Integer, Utf8String } from 'asn1js'
import {
  AttributeTypeAndValue,
  BasicConstraints,
  Certificate,
  Extension,
  ExtKeyUsage,
  GeneralName,
  GeneralNames,
  Time,
} from 'pkijs'

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const
/** Of a general name, RFC 5280 section 4.2.1.6. */
const DNS_NAME = 2

export type KeyPair = webcrypto.CryptoKeyPair

export async function keyPair(): Promise<KeyPair> {
  return (await webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify'])) as KeyPair
}

interface Named {
  readonly name: string
  readonly keys: KeyPair
  readonly by: KeyPair
  readonly issuer: string
  readonly isCa?: boolean
  readonly purpose?: string
  /** The DNS name that it is for. */
  readonly host?: string
}

/** Valid for decades, so that no clock has a say. */
export async function certificate({
  name,
  keys,
  by,
  issuer,
  isCa = false,
  purpose,
  host,
}: Named): Promise<Certificate> {
  const made = new Certificate({ version: 2, serialNumber: new Integer({ value: isCa ? 1 : 2 }) })
  made.issuer.typesAndValues.push(commonName(issuer))
  made.subject.typesAndValues.push(commonName(name))
  made.notBefore = new Time({ value: new Date('2020-01-01T00:00:00Z') })
  made.notAfter = new Time({ value: new Date('2049-01-01T00:00:00Z') })
  const constraints = new BasicConstraints({ cA: isCa })
  made.extensions = [extension('2.5.29.19', isCa, constraints)]
  if (purpose !== undefined)
    made.extensions.push(extension('2.5.29.37', true, new ExtKeyUsage({ keyPurposes: [purpose] })))
  if (host !== undefined) {
    const names = new GeneralNames({ names: [new GeneralName({ type: DNS_NAME, value: host })] })
    made.extensions.push(extension('2.5.29.17', false, names))
  }
  await made.subjectPublicKeyInfo.importKey(keys.publicKey as CryptoKey)
  await made.sign(by.privateKey as CryptoKey, 'SHA-256')
  return made
}

function extension(
  extnID: string,
  critical: boolean,
  value: { toSchema: () => { toBER: () => ArrayBuffer } },
): Extension {
  return new Extension({ extnID, critical, extnValue: value.toSchema().toBER(), parsedValue: value as never })
}

function commonName(name: string): AttributeTypeAndValue {
  return new AttributeTypeAndValue({ type: '2.5.4.3', value: new Utf8String({ value: name }) })
}

export function pem(of: Certificate): string {
  return pemText('CERTIFICATE', of.toSchema().toBER())
}

/** PKCS #8. */
export async function privatePem({ privateKey }: KeyPair): Promise<string> {
  return pemText('PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', privateKey))
}

function pemText(label: string, der: ArrayBuffer): string {
  const base64 = Buffer.from(der).toString('base64')
  return `-----BEGIN ${label}-----\n${base64.match(/.{1,64}/g)?.join('\n')}\n-----END ${label}-----\n`
}
