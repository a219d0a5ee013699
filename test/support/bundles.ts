/** @module Bundles of a real ledger, on disk, for tests that check and spoil them. */
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import type { EventQuery } from '../../schemas/event-query.ts'
import { prepareBundle } from '../../src/export/bundle/issue-bundle.ts'
import type { Caller, Ledger } from '../../src/ledger/ledger.ts'
import type { BundleProof } from '../../src/verify/bundle/predicate.ts'

export const AUDITOR: Caller = { tenant: 'acme', actor: 'auditor' }

/** Writes a bundle, with the whole log where nothing else is named; throws where it is refused. */
export async function writeBundle(
  ledger: Ledger,
  file: string,
  {
    query = {},
    caller = AUDITOR,
    proof = 'log',
  }: { readonly query?: EventQuery; readonly caller?: Caller; readonly proof?: BundleProof } = {},
): Promise<void> {
  const prepared = await prepareBundle(ledger, caller, query, { proof })
  if (!prepared.ok) throw new Error(JSON.stringify(prepared))
  await prepared.value.start()
  await pipeline(Readable.from(prepared.value.chunks()), createWriteStream(file))
}

/** The files of a tar by name, in their order. */
export async function unpackTar(tar: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>()
  const reading = extract()
  reading.end(tar)
  for await (const entry of reading) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    files.set(entry.header.name, Buffer.concat(chunks))
  }
  return files
}
