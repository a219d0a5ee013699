/** The checks of one event, each with its verdict; pure except for Web Crypto, so that tests run them without a page. */
import {
  fromBase64url,
  leafHash,
  parseCheckpoint,
  parseProofFile,
  parseVerifierKey,
  rootOfProof,
  sha256,
  toHex,
  utf8,
  verifyCheckpoint,
} from './merkle.ts'

/** The fetched evidence: the signed texts, the previous header, and the proof. */
export interface Evidence {
  readonly header: string
  readonly salt: string
  readonly data: string
  /** Header text of the previous event; absent for the first event. */
  readonly before?: string
  /** C2SP tlog-proof; absent until a checkpoint covers the event. */
  readonly proofFile?: string
  readonly verifierKey?: string
}

export type CheckName = 'body' | 'link' | 'inclusion' | 'signature'

export interface Check {
  readonly name: CheckName
  readonly verdict: 'good' | 'bad' | 'open'
  readonly text: string
}

export async function checkEvidence(evidence: Evidence, verifierKey: string): Promise<readonly Check[]> {
  return [
    await checked('body', () => checkBody(evidence)),
    await checked('link', () => checkLink(evidence)),
    await checked('inclusion', () => checkInclusion(evidence)),
    await checked('signature', () => checkSignature(evidence, verifierKey)),
  ]
}

type Verdict = Omit<Check, 'name'>

async function checked(name: CheckName, check: () => Promise<Verdict>): Promise<Check> {
  try {
    return { name, ...(await check()) }
  } catch (error) {
    return { name, verdict: 'bad', text: error instanceof Error ? error.message : String(error) }
  }
}

async function checkBody({ header, salt, data }: Evidence): Promise<Verdict> {
  const { dataDigest } = JSON.parse(header) as { dataDigest: string }
  const digest = `sha256:${toHex(await sha256(fromBase64url(salt), utf8(data)))}`
  if (digest === dataDigest)
    return good('The body is the one that the header names: salt and body hash to its dataDigest.')
  return bad(`The body hashes to ${digest}, the header names ${dataDigest}.`)
}

async function checkLink({ header, before }: Evidence): Promise<Verdict> {
  const { prev, revision } = JSON.parse(header) as { prev?: string; revision: number }
  if (before === undefined) {
    return prev === undefined && revision === 0
      ? good('It is the first event of its run.')
      : bad('The event before it is missing.')
  }
  const digest = `sha256:${toHex(await leafHash(before))}`
  if (digest === prev) return good(`It continues event ${revision - 1}: prev is the hash of that header.`)
  return bad(`The event before it hashes to ${digest}, the header names ${prev}.`)
}

/** The server sends the key with every proof: if it is absent, the token has no access to the log. */
function withoutProof(verifierKey: string | undefined): string {
  if (verifierKey === undefined) return 'Proofs of the log need a token with audit:read.'
  return 'No checkpoint covers this event yet: one is signed within seconds, or, where the file of the logs is being rebuilt, once that is done. Come back then.'
}

async function checkInclusion({ header, proofFile, verifierKey }: Evidence): Promise<Verdict> {
  if (proofFile === undefined) return { verdict: 'open', text: withoutProof(verifierKey) }
  const { index, proof, note } = parseProofFile(proofFile)
  const { size, root } = parseCheckpoint(note)
  const led = await rootOfProof({ index, size, leaf: await leafHash(header), proof })
  if (led !== undefined && toHex(led) === toHex(root)) {
    return good(
      `It is leaf ${index} of ${size}: ${proof.length} hashes lead from its header to the root of the checkpoint.`,
    )
  }
  return bad('The proof does not lead from this header to the root of the checkpoint.')
}

async function checkSignature({ proofFile, verifierKey: served }: Evidence, verifierKey: string): Promise<Verdict> {
  if (proofFile === undefined) return { verdict: 'open', text: withoutProof(served) }
  const checkpoint = parseCheckpoint(parseProofFile(proofFile).note)
  const key = await parseVerifierKey(verifierKey)
  if (key.name !== checkpoint.origin)
    return bad(`The checkpoint is of ${checkpoint.origin}, the key is of ${key.name}.`)
  switch (await verifyCheckpoint(checkpoint, key)) {
    case 'valid':
      return good(`The checkpoint of ${checkpoint.size} events is signed by ${key.name} (Ed25519, key ${key.keyId}).`)
    case 'invalid':
      return bad('The signature does not fit the checkpoint.')
    case 'not-signed':
      return bad('The checkpoint is not signed by this key.')
    case 'unsupported':
      return {
        verdict: 'open',
        text: 'This browser cannot check Ed25519. Take the proof file to "countersign verify" or another tool.',
      }
  }
}

const good = (text: string): Verdict => ({ verdict: 'good', text })
const bad = (text: string): Verdict => ({ verdict: 'bad', text })
