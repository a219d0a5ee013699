/** @module `countersign audit QUERY`, and its two shortest ways in: `events` and `search`. */
import { AUDIT_QUERIES, type AuditQueryName } from '../ledger/audit/audit-queries.ts'
import { openApi } from './api.ts'
import { type Arguments, readArguments } from './arguments.ts'
import { EXIT, usageFailure } from './failure.ts'
import { limitOf, QUERY_ARGUMENTS, queryParams } from './filters.ts'
import { printRows } from './table.ts'

export async function audit(args: readonly string[]): Promise<number> {
  const inputs = readArguments(args, { ...QUERY_ARGUMENTS, positionals: ['[QUERY]'] })
  const [name] = inputs.positionals
  if (name === undefined) {
    const rows = Object.entries(AUDIT_QUERIES).map(([query, { summary }]) => ({ query, summary }))
    await printRows(each(rows), { columns: ['query', 'summary'], json: inputs.has('json') })
    return EXIT.ok
  }
  if (!Object.hasOwn(AUDIT_QUERIES, name)) {
    throw usageFailure(`"${name}" is no query; it is one of ${Object.keys(AUDIT_QUERIES).join(', ')}`)
  }
  return answerQuestion(name as AuditQueryName, inputs)
}

export async function events(args: readonly string[]): Promise<number> {
  return answerQuestion('events', readArguments(args, QUERY_ARGUMENTS))
}

export async function search(args: readonly string[]): Promise<number> {
  const input = readArguments(args, { ...QUERY_ARGUMENTS, positionals: ['WORDS'] })
  const [words] = input.positionals
  return answerQuestion('search', { ...input, text: (name) => (name === 'text' ? words : input.text(name)) })
}

async function answerQuestion(name: AuditQueryName, args: Arguments): Promise<number> {
  const params = queryParams(name, args)
  const limit = limitOf(args)
  await using api = await openApi(args)
  const rows = api.items(`/v1/audit/${name}`, params, limit)
  await printRows(rows, { columns: AUDIT_QUERIES[name].columns, json: args.has('json') })
  return EXIT.ok
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T, void> {
  yield* items
}
