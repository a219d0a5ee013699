/** @module Bundles of answers to auditors, made by a test ledger. */
import type { JsonObject } from '../../schemas/json.ts'
import { prepareAnswerBundle } from '../../src/export/bundle/issue-bundle.ts'
import type { AuditQuestion } from '../../src/ledger/audit/audit-reads.ts'
import { reportLines } from '../../src/verify/bundle/report-lines.ts'
import type { BundleVerdict } from '../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { unpackTar } from './bundles.ts'
import { textLines } from './forged-bundle.ts'
import { type Files, packedBundle } from './forgery.ts'
import { alice, type TestLedger } from './test-ledger.ts'

/** Throws where it is refused. */
export async function answerBundle(
  { ledger }: TestLedger,
  question: AuditQuestion & { readonly treeSize?: number },
): Promise<Files> {
  const prepared = await prepareAnswerBundle(ledger, alice, question)
  if (!prepared.ok) throw new Error(prepared.detail)
  await prepared.value.start()
  const chunks: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) chunks.push(chunk)
  return unpackTar(Buffer.concat(chunks))
}

/** `lines`: the report, for people. */
export async function judgedAnswer(
  { ledger }: TestLedger,
  files: Files,
): Promise<BundleVerdict & { readonly lines: string }> {
  const found = verifyBundle(await packedBundle(files), { key: ledger.logs?.verifierKey(alice.tenant) })
  return { ...found, lines: reportLines(found).join('\n') }
}

export function rowsIn(files: Files): readonly JsonObject[] {
  return textLines(files, 'answer.jsonl')
    .slice(1)
    .map((line) => JSON.parse(line))
}
