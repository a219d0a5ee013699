/** @module `countersign audit QUERY --export FILE` and `--bundle FILE`: the whole answer as a signed file, or with the events that prove it; from the store or from a running ledger. */
import { EventQueryParams } from '../../schemas/event-query.ts'
import type { AnswerFormatName } from '../export/answer/answer-formats.ts'
import { type AnswerRequest, prepareAnswer } from '../export/answer/issue-answer.ts'
import { prepareAnswerBundle } from '../export/bundle/issue-bundle.ts'
import type { AuditQueryName } from '../ledger/audit/audit-queries.ts'
import { type Params, tenantOf } from './api.ts'
import type { Arguments } from './arguments.ts'
import { remoteFile } from './export.ts'
import { EXIT, usageFailure } from './failure.ts'
import { fromStore } from './local-export.ts'
import { jsonLine, oneLine } from './shown.ts'
import { written } from './written-file.ts'

export interface WantedAnswer {
  readonly name: AuditQueryName
  /** As parameters of the URL. */
  readonly params: Params
  readonly file: string
  /** With the events that its rows follow from. */
  readonly isBundle: boolean
}

export async function exportAnswer({ name, params, file, isBundle }: WantedAnswer, inputs: Arguments): Promise<number> {
  if (inputs.text('limit') !== undefined)
    throw usageFailure('--limit: an export has all rows; narrow the question instead')
  if (inputs.has('trust-nothing'))
    throw usageFailure(
      '--trust-nothing goes without --export and --bundle, which are on record and so need the ledger itself',
    )
  if (isBundle && (params.asOf ?? params.order) !== undefined)
    throw usageFailure(
      '--bundle is as of the checkpoint that it brings, and in one order: --as-of and --order go without it',
    )
  const format = isBundle ? BUNDLE : file.endsWith('.csv') ? 'csv' : 'jsonl'
  const parameters = Object.entries({ ...params, format }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)] as [string, string]],
  )
  const chunks =
    inputs.text('url') === undefined
      ? localAnswer(inputs, requestOf({ name, format, params }))
      : remoteFile(inputs, `/v1/answers/${name}?${new URLSearchParams(parameters)}`)
  const bytes = await written(chunks, file)
  if (inputs.has('json')) process.stdout.write(jsonLine({ file, bytes, format, query: name }))
  else process.stderr.write(`${oneLine(`the answer to ${name}, ${bytes} bytes, in ${file}`)}\n`)
  return EXIT.ok
}

const BUNDLE = 'bundle'

interface Question {
  readonly name: AuditQueryName
  readonly format: AnswerFormatName | typeof BUNDLE
  readonly params: Params
}

type Wanted = Omit<AnswerRequest, 'format'> & Pick<Question, 'format'>

/** Throws `CliFailure` with exit code 2, naming the flag at fault. */
function requestOf({ name, format, params }: Question): Wanted {
  const { asOf, by, seed, order, ...filters } = params
  const named = Object.entries(filters).filter(([, value]) => value !== undefined)
  const filter = EventQueryParams.safeParse(Object.fromEntries(named))
  if (!filter.success) {
    const issue = filter.error.issues[0]
    throw usageFailure(`--${String(issue?.path[0] ?? 'query')}: ${issue?.message}`)
  }
  if (asOf !== undefined && !/^\d{1,15}$/.test(String(asOf)))
    throw usageFailure(`--as-of: "${asOf}" is no size of a log`)
  const question = { name, filter: filter.data, ...(by !== undefined && { by: String(by) }) }
  return {
    format,
    question: { ...question, ...(seed !== undefined && { seed: String(seed) }) },
    newestFirst: order === 'desc',
    treeSize: asOf === undefined ? undefined : Number(asOf),
  }
}

/** Throws what `fromStore` throws. */
function localAnswer({ settings, text }: Arguments, { format, ...request }: Wanted): AsyncGenerator<Uint8Array, void> {
  return fromStore(settings, tenantOf(text('tenant')), (ledger, caller) =>
    format === BUNDLE
      ? prepareAnswerBundle(ledger, caller, request.question)
      : prepareAnswer(ledger, caller, { ...request, format }),
  )
}
