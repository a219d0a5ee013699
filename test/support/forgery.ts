/** @module What whoever holds a log's key can do: trailers, checkpoints and manifests, signed again over what was changed. */
import type { KeyObject } from 'node:crypto'
import { signedTrailerText, TRAILER_PAYLOAD_TYPE, type TrailerFacts } from '../../schemas/export-trailer.ts'
import { textFile } from '../../src/export/bundle/bundle-file.ts'
import { STATEMENT_PAYLOAD_TYPE, statementText } from '../../src/export/bundle/statement.ts'
import { tarChunks } from '../../src/export/bundle/write-tar.ts'
import { exportDigest, exportTrailer } from '../../src/export/jsonl.ts'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner } from '../../src/merkle/note-key.ts'
import { signNote } from '../../src/merkle/signed-note.ts'
import { digestText } from '../../src/signing/digests.ts'
import { signDsse } from '../../src/signing/dsse.ts'
import type { BundlePredicate, BundleProof } from '../../src/verify/bundle/predicate.ts'

export interface LogKey {
  /** Name of the log, `<origin>/<tenant>`. */
  readonly name: string
  readonly key: KeyObject
}

function keyText({ name, key }: LogKey): string {
  return `${name}+${noteSigner(name, key).verifier.keyId}`
}

/** The header of an export's line, as text. */
export function headerOf(line: string): string {
  return /^\{"header":(\{.*?\}),"salt":"/s.exec(line)?.[1] ?? ''
}

export function treeOf(headers: readonly string[]): { treeSize: number; root: string } {
  const tree = new CompactTree()
  for (const header of headers) tree.append(leafHash(header))
  return { treeSize: tree.size, root: digestText(tree.root()) }
}

/** A trailer of these lines, their line feeds included, that is right in all it says unless `said` says otherwise. */
export function trailerLine(lines: readonly string[], log: LogKey, overrides: Partial<TrailerFacts> = {}): string {
  const digest = exportDigest()
  for (const line of lines) digest.update(line)
  const events = lines.filter((line) => line.startsWith('{"header":'))
  const facts: TrailerFacts = {
    ledgerId: 'x',
    tenant: log.name.slice(log.name.lastIndexOf('/') + 1),
    run: null,
    events: events.length,
    digest: digest.text(),
    asOf: '20',
    ...treeOf(events.map(headerOf)),
    ...overrides,
  }
  const text = Buffer.from(signedTrailerText(2, facts))
  const signed = signDsse(text, { payloadType: TRAILER_PAYLOAD_TYPE, keyid: keyText(log), key: log.key }).signatures[0]
  const signature = { key: keyText(log), type: TRAILER_PAYLOAD_TYPE, sig: signed?.sig ?? '' } as const
  const { losses: _, ...whole } = facts
  return exportTrailer({ v: 2, ...whole, signature })
}

export type Files = ReadonlyMap<string, Buffer>

export function predicateOf(files: Files): BundlePredicate {
  return JSON.parse(files.get('manifest.json')?.toString() ?? '').predicate
}

/** The same files under a manifest that names them, by their digests as they are now. */
export function signedAgain(
  files: Files,
  log: LogKey,
  predicate: BundlePredicate = predicateOf(files),
  proof: BundleProof = 'log',
): Files {
  const named = [...files].filter(([name]) => !name.startsWith('manifest.'))
  const subjects = named.map(([name, content]) => ({ ...textFile(name, ''), sha256: sha256Of(content) }))
  return withManifest(new Map(named), statementText(subjects, predicate, proof), log)
}

/** The files under a manifest of these very bytes, signed. */
export function withManifest(files: Files, statement: string, log: LogKey): Files {
  const envelope = signDsse(Buffer.from(statement), {
    payloadType: STATEMENT_PAYLOAD_TYPE,
    keyid: keyText(log),
    key: log.key,
  })
  return new Map([
    ...files,
    ['manifest.json', Buffer.from(statement)],
    ['manifest.dsse.json', Buffer.from(`${JSON.stringify(envelope)}\n`)],
  ])
}

function sha256Of(content: Buffer): string {
  const digest = exportDigest()
  digest.update(content)
  return digest.text().slice('sha256:'.length)
}

/** A checkpoint over these headers. */
export function checkpointOf(
  headers: readonly string[],
  { name, key }: LogKey,
  extensions: readonly string[] = [],
): string {
  const tree = new CompactTree()
  for (const header of headers) tree.append(leafHash(header))
  return signNote(formatCheckpoint({ origin: name, size: tree.size, root: tree.root(), extensions }), [
    noteSigner(name, key),
  ])
}

/** As the ledger packs it. */
export async function packedBundle(files: Files): Promise<Buffer> {
  const entries = [...files].map(([name, content]) => ({
    name,
    size: content.length,
    sha256: '',
    content: () => [content],
  }))
  const chunks: Uint8Array[] = []
  for await (const chunk of tarChunks(entries)) chunks.push(chunk)
  return Buffer.concat(chunks)
}
