/** @module The manifest: signed with the log's key (DSSE), it names the digest of every file. */

import { LOSS_SCOPES, LOSSES_MAX, lossesText } from '../../../schemas/loss.ts'
import { ANSWER, MANIFESTS, NEEDED, PROOFS, STAMP, VALUES } from './bundle-files.ts'
import { type Bundle, digestOfFile, jsonOf, textOf } from './file-text.ts'
import { type Form, isCount, isDigest, isList, isOf, isText, isTime, maybe } from './forms.ts'
import type { BundlePredicate, BundleProof } from './predicate.ts'
import { completePart, QUERY } from './query.ts'
import { eventsBehind, isQuestion } from './questions.ts'
import { shown } from './shown-text.ts'
import { type Fail, Stop } from './verdict.ts'
import { isSigned, type VerifierKey } from './verifier-keys.ts'

const PREDICATE_TYPES = new Map<string, BundleProof>([
  ['urn:countersign:evidence-bundle:v1', 'log'],
  ['urn:countersign:evidence-bundle:v2', 'stream'],
  ['urn:countersign:evidence-bundle:v3', 'log'],
])
/** Behind the type of a bundle that names losses, and of one whose log has a line in place of a lost header: a verifier of before does not know that kind. */
export const NOT_WHOLE = [':incomplete', ':holed'] as const
/** Of a bundle with the answer to a question. */
const OF_ANSWER = 'urn:countersign:evidence-bundle:v3'
const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'

interface Envelope {
  readonly signatures: readonly [{ readonly sig: string }]
}

interface Subject {
  readonly name: string
  readonly digest: { readonly sha256: string }
}

interface Statement {
  readonly predicateType: string
  readonly subject: readonly Subject[]
  readonly predicate: BundlePredicate
}

interface Kind {
  readonly proof: BundleProof
  readonly isAnswer: boolean
  /** It names what is lost. */
  readonly isPart: boolean
}

interface Manifest {
  readonly manifest: BundlePredicate
  readonly proof: BundleProof
  readonly hasValues: boolean
  readonly hasStamp: boolean
}

type Answer = NonNullable<BundlePredicate['answer']>

export function checkManifest(bundle: Bundle, key: VerifierKey, fail: Fail): Manifest {
  const body = Buffer.from(textOf(bundle, 'manifest.json'))
  const text = textOf(bundle, 'manifest.dsse.json')
  const { sig } = jsonOf<Envelope>(text, 'manifest.dsse.json').signatures[0]
  const signatures = [{ keyid: `${key.name}+${key.id}`, sig }]
  const envelope = { payload: body.toString('base64'), payloadType: PAYLOAD_TYPE, signatures }
  if (!isSigned(PAYLOAD_TYPE, body, key, sig) || text !== `${JSON.stringify(envelope)}\n`)
    throw new Stop('TAMPERED', 'manifest-signature', `the manifest is not what the key of ${key.name} has signed`)

  const statement = jsonOf<Statement>(body.toString(), 'the manifest')
  const { predicateType } = statement
  const part = NOT_WHOLE.find((each) => predicateType.endsWith(each)) ?? ''
  const isPart = part !== ''
  const type = predicateType.slice(0, predicateType.length - part.length)
  const proof = PREDICATE_TYPES.get(type)
  if (proof === undefined)
    throw new Stop('UNVERIFIABLE', 'manifest-type', 'this verifier does not know that kind of manifest')
  const { subject, predicate } = statement
  const expected = { _type: STATEMENT_TYPE, subject: subject.map(subjectOf), predicateType, predicate }
  if (JSON.stringify(expected, null, 2) !== body.toString())
    fail('TAMPERED', 'manifest-form', 'the manifest is not written as a bundle writes it')
  const isAnswer = type === OF_ANSWER
  checkSubjects(bundle, { subject, proof, isAnswer }, fail)
  checkPredicate(predicate, { key, proof, isAnswer, isPart }, fail)
  if (predicate.losses !== undefined)
    fail('INCOMPLETE', 'losses', `not whole, says the ledger itself: ${shown(lossesText(predicate.losses))}`)
  const isNamed = (file: string) => subject.some(({ name }) => name === file)
  const hasStamp = Object.values(STAMP).some(isNamed)
  return { manifest: predicate, proof, hasValues: isNamed(VALUES), hasStamp }
}

const subjectOf = ({ name, digest }: Subject): Subject => ({ name, digest: { sha256: digest.sha256 } })

/** Each file is named, once, by its digest; and nothing is named that is not there. */
function checkSubjects(
  bundle: Bundle,
  { subject, proof, isAnswer }: Omit<Kind, 'isPart'> & { readonly subject: readonly Subject[] },
  fail: Fail,
): void {
  const own = [PROOFS[proof], ...(isAnswer ? [ANSWER] : [])]
  const needed = [...NEEDED, ...own]
  for (const file of own) if (!bundle.files.has(file)) fail('INCOMPLETE', 'file-missing', `${file} is missing`)
  for (const file of [...Object.values(PROOFS), ANSWER])
    if (!needed.includes(file) && bundle.files.has(file))
      fail('TAMPERED', 'foreign-file', `${file} does not belong in a bundle of this kind`)
  const digests = new Map(subject.map(({ name, digest }) => [name, digest.sha256]))
  if (digests.size !== subject.length) fail('TAMPERED', 'manifest-form', 'the manifest names a file twice')
  for (const [file, digest] of digests) {
    const there = bundle.files.get(file)
    if (there === undefined && !needed.includes(file)) fail('INCOMPLETE', 'file-missing', `${shown(file)} is missing`)
    if (there !== undefined && digestOfFile(there) !== digest)
      fail('TAMPERED', 'file-digest', `${shown(file)} is not the file that the manifest names`)
  }
  for (const file of bundle.files.keys())
    if (!digests.has(file) && !MANIFESTS.includes(file))
      fail('TAMPERED', 'foreign-file', `the manifest does not name ${file}`)
}

/** Of an answer: what its rows follow from, `also` whatever else. */
const BEHIND = { ...QUERY, also: maybe(isList) }

const PREDICATE: Form = {
  exportId: isText,
  ledgerId: isText,
  origin: isText,
  tenant: isText,
  query: isOf(QUERY),
  complete: isOf(QUERY),
  exportedBy: isOf({ actor: isText, principal: maybe(isText), via: maybe(isList) }),
  time: isTime,
  timeZone: (value) => value === 'UTC',
  checkpoint: isOf({ size: isCount, root: isDigest }),
  counts: isOf({ events: isCount, matching: isCount, leaves: isCount }),
  proofs: isText,
}
const isLoss = isOf({
  scope: (value) => (LOSS_SCOPES as readonly unknown[]).includes(value),
  code: isText,
  stream: maybe(isText),
  revision: maybe(isCount),
})
const isLosses = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.length <= LOSSES_MAX && value.every(isLoss)
const ANSWER_PREDICATE: Form = {
  ...PREDICATE,
  query: isOf(BEHIND),
  complete: isOf(BEHIND),
  answer: isOf({ question: (question) => isQuestion(question), rows: isCount }),
}

/** The same text for the same members, in whatever order. */
const sorted = (object: object): string => JSON.stringify(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))

/** The manifest may say only what is known here, and of what must be in the bundle only what follows from the query. */
function checkPredicate(
  predicate: BundlePredicate,
  { key: { name }, proof, isAnswer, isPart }: Kind & { readonly key: VerifierKey },
  fail: Fail,
): void {
  const form = { ...(isAnswer ? ANSWER_PREDICATE : PREDICATE), ...(isPart && { losses: isLosses }) }
  for (const [member, is] of Object.entries(form))
    if (!isOf({ [member]: is })({ [member]: predicate[member as keyof BundlePredicate] }))
      throw new Stop('TAMPERED', 'manifest-form', `the manifest's ${member} is nothing that a bundle can prove`)
  if (!isOf(form)(predicate))
    throw new Stop('TAMPERED', 'manifest-form', 'the manifest says more than a bundle can prove')
  const { origin, query, complete, answer, checkpoint } = predicate
  if (origin !== name)
    fail('TAMPERED', 'other-log', `the manifest is about the log ${shown(origin)}, the key is of ${name}`)
  if (proof === 'stream' && query.run === undefined)
    throw new Stop('TAMPERED', 'manifest-form', 'the manifest is about one run and names none')
  if (isAnswer && sorted(query) !== sorted(eventsBehind((answer as Answer).question)))
    fail('TAMPERED', 'other-scope', 'the manifest asks for other events than the answer to its question follows from')
  if (isAnswer && ((answer as Answer).question.asOf ?? 0) > checkpoint.size)
    fail('TAMPERED', 'answer-question', 'the answer is as of more events than the checkpoint covers')
  if (sorted(complete) !== sorted(proof === 'stream' ? { run: query.run } : completePart(query)))
    fail('TAMPERED', 'other-scope', 'the manifest claims to be complete for less, or other, than its query asks for')
}
