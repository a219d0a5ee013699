/** @module `countersign audit QUERY`, and its two shortcuts: `events` and `search`. */
import { AUDIT_QUERIES, type AuditQueryName, followsFromLog } from '../ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../ledger/audit/service-queries.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { exportAnswer } from './export-answer.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf, queryParams } from './filters.ts'
import { printRows } from './table.ts'

export async function listQueries({ has }: Arguments): Promise<number> {
  const all = Object.entries({ ...AUDIT_QUERIES, ...SERVICE_QUERIES })
  const rows = all.map(([query, { summary }]) => ({ query, summary: summary.replaceAll('`', '') }))
  await printRows(each(rows), { columns: ['query', 'summary'], json: has('json') })
  return EXIT.ok
}

export const queryNamed =
  (name: AuditQueryName) =>
  (args: Arguments): Promise<number> =>
    answerQuestion(name, args)

export const serviceQueryNamed =
  (name: ServiceQueryName) =>
  async (args: Arguments): Promise<number> => {
    const limit = limitOf(args)
    const { columns, filters } = SERVICE_QUERIES[name]
    const params = Object.fromEntries(filters.map((filter) => [filter, args.text(filter)]))
    const file = args.text('export')
    if (file !== undefined) return exportAnswer({ name, params, file, isBundle: false }, args)
    await using api = await openApi(args)
    const rows = api.items(`/v1/audit/${name}`, params, limit)
    await printRows(rows, { columns, json: args.has('json') })
    return api.exitCode()
  }

export const events = queryNamed('events')

export async function search(args: Arguments): Promise<number> {
  const [words] = args.positionals
  return answerQuestion('search', { ...args, text: (name) => (name === 'text' ? words : args.text(name)) })
}

async function answerQuestion(name: AuditQueryName, args: Arguments): Promise<number> {
  const params = queryParams(name, args)
  const limit = limitOf(args)
  const file = args.text('export')
  const bundle = followsFromLog(AUDIT_QUERIES[name].shape) ? args.text('bundle') : undefined
  if (file !== undefined && bundle !== undefined)
    throw usageFailure('--export and --bundle name a file each: one at a time')
  const wanted = bundle ?? file
  if (wanted !== undefined) return exportAnswer({ name, params, file: wanted, isBundle: bundle !== undefined }, args)
  await using api = await openApi(args)
  const rows = api.items(`/v1/audit/${name}`, params, limit)
  await printRows(rows, { columns: AUDIT_QUERIES[name].columns, json: args.has('json') })
  const isTable = process.stdout.isTTY === true && !args.has('json')
  if (params.text !== undefined && isTable) process.stderr.write(BY_INDEX)
  return api.exitCode()
}

const BY_INDEX =
  'found by the index of words; large and encrypted values are not searched. --export FILE and --bundle FILE make the answer from the events\n'

async function* each<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}
