/** @module `countersign verify BUNDLE --timestamp-ca FILE`: checks that an authority trusted by the reader signed the time-stamp in a bundle. */
import { readFileSync } from 'node:fs'
import { sha256 } from '../signing/digests.ts'
import { readTimestampReply } from '../timestamps/timestamp-reply.ts'
import { checkTokenSignature, readAuthorities, type SignatureCheck } from '../timestamps/token-signature.ts'
import type { BundleVerdict } from '../verify/bundle/verdict.ts'
import { usageFailure } from './failure.ts'

export interface StampedText {
  readonly text: Uint8Array
  /** TimeStampResp, DER. */
  readonly reply: Uint8Array
}

type Authorities = ReturnType<typeof readAuthorities>

/** Certificates of a PEM file; undefined if no path is given. Throws a usage failure. */
export function timestampAuthorities(path: string | undefined): Authorities | undefined {
  if (path === undefined) return undefined
  try {
    return readAuthorities(readFileSync(path, 'utf8'))
  } catch (error) {
    throw usageFailure(`--timestamp-ca: ${path} cannot be used: ${(error as Error).message}`)
  }
}

/** The verdict, extended by the check of the signature: naming authorities requires a time-stamp that one of them signed. */
export async function judgedStamp(
  found: BundleVerdict,
  stamp: StampedText | undefined,
  trusted: Authorities,
): Promise<BundleVerdict> {
  const { timestamp } = found.about ?? {}
  if (stamp === undefined || timestamp === undefined)
    return unproven(found, 'no-timestamp', 'no checkpoint of this log was time-stamped when the bundle was made')
  const checked = await signatureOf(stamp, trusted)
  if (!checked.ok) return unproven(found, 'timestamp-signature', `the time-stamp: ${checked.message}`)
  timestamp.signedBy = checked.by
  const { succession, size } = found.about ?? {}
  const isBefore = succession?.time !== undefined && Date.parse(timestamp.time) <= Date.parse(succession.time)
  if (isBefore && timestamp.size === size) succession.shownBy.push(`the time-stamp of ${checked.by}`)
  return found
}

async function signatureOf({ text, reply }: StampedText, trusted: Authorities): Promise<SignatureCheck> {
  const read = readTimestampReply(reply, { digest: sha256(text) })
  return read.ok ? checkTokenSignature(read.token.signed, { data: text, trusted }) : read
}

function unproven(found: BundleVerdict, code: string, message: string): BundleVerdict {
  const fault = { verdict: 'UNVERIFIABLE', code, message } as const
  const isWorse = found.verdict === 'VERIFIED' || found.verdict === 'CONSISTENT, NOT AUTHENTICATED'
  return { ...found, verdict: isWorse ? fault.verdict : found.verdict, faults: [...found.faults, fault] }
}
