/**
 * @module `countersign audit QUERY --export FILE` and `--bundle FILE`: writes the complete answer as a signed file, or as a bundle with the events that prove
 * it; from the store or from a running ledger.
 */
import { type EventQuery, EventQueryParams } from '../../schemas/event-query.ts'
import type { Loss } from '../../schemas/loss.ts'
import type { AnswerFormatName } from '../export/answer/answer-formats.ts'
import { prepareAnswer } from '../export/answer/issue-answer.ts'
import { prepareServiceAnswer } from '../export/answer/issue-service-answer.ts'
import { prepareAnswerBundle } from '../export/bundle/issue-bundle.ts'
import type { AuditQueryName } from '../ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../ledger/audit/service-queries.ts'
import { type Params, tenantOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { remoteFile } from './export.ts'
import { usageFailure } from './failure.ts'
import { flagNameOf } from './flag.ts'
import { fromStore } from './local-export.ts'
import { exitCodeWith, namingFile } from './named-losses.ts'
import { jsonLine, oneLine } from './shown.ts'
import { written } from './written-file.ts'

export interface WantedAnswer {
  readonly name: AuditQueryName | ServiceQueryName
  /** Filters and options as URL parameters. */
  readonly params: Params
  readonly file: string
  /** Whether to include the events that the rows follow from. */
  readonly isBundle: boolean
}

export async function exportAnswer({ name, params, file, isBundle }: WantedAnswer, inputs: Arguments): Promise<number> {
  if (inputs.text('limit') !== undefined)
    throw usageFailure('--limit: an export has all rows; narrow the question instead')
  if (inputs.has('trust-nothing'))
    throw usageFailure(
      '--trust-nothing goes without --export and --bundle, which are recorded and so need the ledger itself',
    )
  if (isBundle && params.order !== undefined)
    throw usageFailure('--bundle has its rows in one order: --order goes without it')
  const format = isBundle ? BUNDLE : file.endsWith('.csv') ? 'csv' : 'jsonl'
  const parameters = Object.entries({ ...params, format }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)] as [string, string]],
  )
  const remote =
    inputs.text('url') === undefined
      ? undefined
      : remoteFile(inputs, `/v1/answers/${name}?${new URLSearchParams(parameters)}`)
  const open = (onLosses: Question['onLosses']) => remote ?? localAnswer(inputs, { name, format, params, onLosses })
  const naming = namingFile(open, isBundle)
  const bytes = await written(naming.chunks, file, inputs.settings)
  if (inputs.has('json')) process.stdout.write(jsonLine({ file, bytes, format, query: name }))
  else process.stderr.write(`${oneLine(`the answer to ${name}, ${bytes} bytes, in ${file}`)}\n`)
  return exitCodeWith(naming.losses())
}

const BUNDLE = 'bundle'

interface Question {
  readonly name: WantedAnswer['name']
  readonly format: AnswerFormatName | typeof BUNDLE
  readonly params: Params
  readonly onLosses: (losses: readonly Loss[]) => void
}

/** Throws the errors of `fromStore`, and `CliFailure` with exit code 2, naming the invalid flag. */
function localAnswer(
  { settings, text }: Arguments,
  { name, format, params, onLosses }: Question,
): AsyncGenerator<Uint8Array, void> {
  const { asOf, by, seed, order, ...filters } = params
  const filter = filterOf(filters)
  if (asOf !== undefined && !/^\d{1,15}$/.test(String(asOf)))
    throw usageFailure(`--as-of: "${asOf}" is no size of a log`)
  return fromStore(settings, { tenant: tenantOf(text('tenant')), run: filter.run, onLosses }, (ledger, caller) => {
    if (isServiceQuery(name)) return prepareServiceAnswer(ledger, caller, { name, filter, format: lineFormat(format) })
    const more = { ...(by !== undefined && { by: String(by) }), ...(seed !== undefined && { seed: String(seed) }) }
    const question = { name, filter, ...more }
    const treeSize = asOf === undefined ? undefined : Number(asOf)
    if (format === BUNDLE) return prepareAnswerBundle(ledger, caller, { ...question, treeSize })
    return prepareAnswer(ledger, caller, { format, question, newestFirst: order === 'desc', treeSize })
  })
}

function filterOf(filters: Params): EventQuery {
  const named = Object.entries(filters).filter(([, value]) => value !== undefined)
  const filter = EventQueryParams.safeParse(Object.fromEntries(named))
  if (filter.success) return filter.data
  const issue = filter.error.issues[0]
  throw usageFailure(`--${flagNameOf(String(issue?.path[0] ?? 'query'))}: ${issue?.message}`)
}

const isServiceQuery = (name: WantedAnswer['name']): name is ServiceQueryName => Object.hasOwn(SERVICE_QUERIES, name)

/** Commands offer a bundle only for answers that a bundle can prove. */
function lineFormat(format: Question['format']): AnswerFormatName {
  if (format === BUNDLE) throw new TypeError('no bundle proves this answer')
  return format
}
