/** @module The names of the files of a bundle. */
import type { BundleProof } from './predicate.ts'

export const MANIFESTS = ['manifest.dsse.json', 'manifest.json']
const SIGNED = 'README.txt checkpoint events.jsonl jwks.json report.html verifier-key.txt verify.mjs'.split(' ')
/** What shows that nothing was left out: the headers of the whole log, or, of one run, the tree of streams that the checkpoint names. */
export const PROOFS: Readonly<Record<BundleProof, string>> = { log: 'log.jsonl', stream: 'stream.json' }
/** Of a log whose key was rotated: the signed notes that lead from its first key to the one that signed the bundle. */
export const SUCCESSIONS = 'key-successions.json'
/** The large values that the events name, on request. */
export const VALUES = 'values.jsonl'
/** Of an answer to an auditors' question: the question, then its rows. */
export const ANSWER = 'answer.jsonl'
/** Of a log whose checkpoints are time-stamped: the text that was, the authority's answer, and the proof that the log continues it. */
export const STAMP = { text: 'timestamp.txt', reply: 'timestamp.tsr', proof: 'timestamp.json' }
export const NEEDED = [...SIGNED, ...MANIFESTS]
const FILES = [...NEEDED, SUCCESSIONS, VALUES, ANSWER, ...Object.values(PROOFS), ...Object.values(STAMP)]
export const PROOF_NAME = /^proofs\/[0-9a-f-]{36}\.tlog-proof$/
export const isKnownName = (name: string): boolean => FILES.includes(name) || PROOF_NAME.test(name)

/** Bundles of so many events have a proof file for each; of larger ones the first and the last event have. */
export const PROOFS_MAX = 256
