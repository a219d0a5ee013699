/** @module The manifest of a bundle: an in-toto Statement whose subjects are the bundle's files, signed as a DSSE envelope. */
import { NOT_WHOLE } from '../../verify/bundle/manifest.ts'
import type { BundlePredicate, BundleProof } from '../../verify/bundle/predicate.ts'
import type { BundleFile } from './bundle-file.ts'

export const STATEMENT_PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
/** Types known to `verify.mjs`; another version has another name. */
const PREDICATE_TYPES = {
  /** Completeness is proved by the headers of the whole log. */
  log: 'urn:countersign:evidence-bundle:v1',
  /** Completeness is proved by the tree of streams named in the checkpoint. */
  stream: 'urn:countersign:evidence-bundle:v2',
} as const
/** Completeness is proved by the headers of the whole log, and the bundle contains the rows of an answer. */
const OF_ANSWER = 'urn:countersign:evidence-bundle:v3'

/** The signed text. It does not end in a line feed. `isHoled`: the log has a line in the place of a lost header. */
export function statementText(
  files: readonly BundleFile[],
  predicate: BundlePredicate,
  proof: BundleProof = 'log',
  isHoled = false,
): string {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }))
  const kind = predicate.answer === undefined ? PREDICATE_TYPES[proof] : OF_ANSWER
  const predicateType = predicate.losses === undefined ? kind : `${kind}${NOT_WHOLE[isHoled ? 1 : 0]}`
  const statement = { _type: STATEMENT_TYPE, subject, predicateType, predicate }
  return JSON.stringify(statement, null, 2)
}
