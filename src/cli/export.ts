/** @module `countersign export`: a run, a query or a tenant in one of the line formats or as a bundle, from the store or from a running ledger. */
import { Tenant } from '../../schemas/names.ts'
import { FORMAT_NAMES, isFormatName } from '../export/formats.ts'
import type { Arguments } from './arguments.ts'
import { downloaded } from './download.ts'
import { usageFailure } from './failure.ts'
import { localExport, type WantedExport } from './local-export.ts'
import { exitCodeWith, namingFile } from './named-losses.ts'
import { queryOf, queryParameters } from './query-flags.ts'
import { jsonLine, oneLine } from './shown.ts'
import { written } from './written-file.ts'

const KIB = 1024

export async function exportEvents(inputs: Arguments): Promise<number> {
  const exported = wantedExport(inputs)
  const out = inputs.text('bundle') ?? inputs.text('out')
  if (inputs.has('json') && (out === undefined || out === '-'))
    throw usageFailure('--json goes with --out or --bundle: without them the export itself is what is printed')
  if (out === undefined && process.stdout.isTTY === true)
    throw usageFailure(
      'an export holds what others wrote, byte for byte, which a terminal might obey: name a file with --out, or pipe it on',
    )
  const { tenant, format, query } = exported
  const remote = inputs.text('url') === undefined ? undefined : remoteExport(inputs, exported)
  const file = namingFile((onLosses) => remote ?? localExport(inputs.settings, exported, onLosses), format === 'bundle')
  const bytes = await written(file.chunks, out, inputs.settings)
  if (inputs.has('json'))
    process.stdout.write(jsonLine({ file: out ?? '-', bytes, format, tenant, query: { ...query } }))
  else process.stderr.write(`${oneLine(`${Math.ceil(bytes / KIB)} KiB of ${query.run ?? tenant}`)}\n`)
  return exitCodeWith(file.losses())
}

function wantedExport({ text, has }: Arguments): WantedExport {
  const format = text('bundle') === undefined ? (text('format') ?? 'jsonl') : 'bundle'
  if (format === 'bundle' && (text('format') ?? text('out')) !== undefined)
    throw usageFailure('--bundle names the file of a bundle: --format and --out go without it')
  if (format !== 'bundle' && !isFormatName(format))
    throw usageFailure(`--format is one of: ${FORMAT_NAMES.join(', ')}; a bundle is made with --bundle FILE.tar`)
  const tenant = Tenant.safeParse(text('tenant') ?? 'default')
  if (!tenant.success) throw usageFailure(`--tenant: ${tenant.error.issues[0]?.message}`)
  const wholeLog = has('whole-log')
  if (wholeLog && format !== 'bundle') throw usageFailure('--whole-log goes with --bundle')
  const values = has('values')
  if (values && format !== 'bundle') throw usageFailure('--values goes with --bundle')
  const query = queryOf({ text })
  const from = leafOf(text('from'))
  if (from !== undefined && (format === 'bundle' || Object.keys(query).length > 0))
    throw usageFailure("--from begins at a leaf of the tenant's whole log: it goes with no filter and no --bundle")
  const tail = from === undefined ? {} : { from }
  return { format, tenant: tenant.data, query, values, ...tail, ...(wholeLog && { proof: 'log' }) }
}

function leafOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw usageFailure(`--from takes the index of a leaf, from 0, not "${text}"`)
  return Number(text)
}

function remoteExport(inputs: Arguments, exported: WantedExport): AsyncIterable<Uint8Array> {
  return remoteFile(inputs, pathOf(exported))
}

/** The response of a running ledger for this path and query, with a token of scope `audit:export`. */
export function remoteFile({ text }: Arguments, path: string): AsyncIterable<Uint8Array> {
  const url = text('url') ?? ''
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  if (text('tenant') !== undefined) throw usageFailure('--tenant: over --url the tenant is that of the token')
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN
  if (token === undefined || token === '')
    throw usageFailure('--url needs a token of scope audit:export: set COUNTERSIGN_TOKEN, or give --token')
  return downloaded({ url: `${url.replace(/\/+$/, '')}${path}`, token })
}

function pathOf({ query, format, proof, values, from }: WantedExport): string {
  if (format === 'bundle') {
    const parameters = queryParameters(query)
    if (proof !== undefined) parameters.set('proof', proof)
    if (values === true) parameters.set('values', 'true')
    return `/v1/bundle?${parameters}`
  }
  const { run, ...filter } = query
  const parameters = queryParameters(filter)
  parameters.set('format', format)
  if (from !== undefined) parameters.set('from', String(from))
  return `${run === undefined ? '/v1/export' : `/v1/runs/${run}/export`}?${parameters}`
}
