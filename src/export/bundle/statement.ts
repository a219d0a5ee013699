/** @module The manifest of a bundle: an in-toto Statement whose subjects are the bundle's files, signed as a DSSE envelope. */
import { NOT_WHOLE } from '../../verify/bundle/manifest.ts'
import type { BundlePredicate, BundleProof } from '../../verify/bundle/predicate.ts'
import type { BundleFile } from './bundle-file.ts'

export const STATEMENT_PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
/** Known to `verify.mjs`; another version has another name. */
const PREDICATE_TYPES = {
  /** Completeness rests on the headers of the whole log. */
  log: 'urn:countersign:evidence-bundle:v1',
  /** On the tree of streams that the checkpoint names. */
  stream: 'urn:countersign:evidence-bundle:v2',
} as const
/** On the headers of the whole log; its rows are the answer to a question. */
const OF_ANSWER = 'urn:countersign:evidence-bundle:v3'

/** The text that is signed. It does not end in a line feed. */
export function statementText(
  files: readonly BundleFile[],
  predicate: BundlePredicate,
  proof: BundleProof = 'log',
): string {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }))
  const kind = predicate.answer === undefined ? PREDICATE_TYPES[proof] : OF_ANSWER
  const predicateType = predicate.losses === undefined ? kind : `${kind}${NOT_WHOLE}`
  const statement = { _type: STATEMENT_TYPE, subject, predicateType, predicate }
  return JSON.stringify(statement, null, 2)
}
