/** @module `countersign export`: a run or a tenant in one of the line formats, from the store or from a running ledger. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { RunId, Tenant } from '../../schemas/names.ts'
import { FORMAT_NAMES, isFormatName } from '../export/formats.ts'
import { type Arguments, PLACE_SETTINGS, readArguments } from './arguments.ts'
import { downloaded } from './download.ts'
import { CliFailure, EXIT, oneLine, usageFailure } from './failure.ts'
import { localExport, type WantedExport } from './local-export.ts'
import { startProgress } from './progress.ts'

const KIB = 1024

export async function exportEvents(args: readonly string[]): Promise<number> {
  const given = readArguments(args, {
    settings: PLACE_SETTINGS,
    texts: ['run', 'format', 'tenant', 'out', 'url', 'token'],
  })
  const wanted = wantedExport(given)
  const chunks = given.text('url') === undefined ? localExport(given.settings, wanted) : remoteExport(given, wanted)
  const bytes = await written(chunks, given.text('out'))
  process.stderr.write(`${oneLine(`${Math.ceil(bytes / KIB)} KiB of ${wanted.run ?? wanted.tenant}`)}\n`)
  return EXIT.ok
}

function wantedExport({ text }: Arguments): WantedExport {
  const format = text('format') ?? 'jsonl'
  if (!isFormatName(format)) throw usageFailure(`--format is one of: ${FORMAT_NAMES.join(', ')}`)
  const tenant = Tenant.safeParse(text('tenant') ?? 'default')
  if (!tenant.success) throw usageFailure(`--tenant: ${tenant.error.issues[0]?.message}`)
  const run = text('run')
  if (run !== undefined && !RunId.safeParse(run).success) throw usageFailure(`--run: "${run}" is no run id`)
  return { format, tenant: tenant.data, ...(run !== undefined && { run }) }
}

function remoteExport({ text }: Arguments, { run, format }: WantedExport): AsyncIterable<Uint8Array> {
  const url = text('url') ?? ''
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`)
  if (text('tenant') !== undefined) throw usageFailure('--tenant: over --url the tenant is that of the token')
  const token = text('token') ?? process.env.COUNTERSIGN_TOKEN
  if (token === undefined || token === '')
    throw usageFailure('--url needs a token of scope audit:export: set COUNTERSIGN_TOKEN, or give --token')
  const path = run === undefined ? '/v1/export' : `/v1/runs/${encodeURIComponent(run)}/export`
  return downloaded({ url: `${url.replace(/\/+$/, '')}${path}?format=${format}`, token })
}

/** Counts the bytes. A file bears its name only once it is whole. */
async function written(chunks: AsyncIterable<Uint8Array>, out: string | undefined): Promise<number> {
  let bytes = 0
  const progress = startProgress({ unit: 'bytes' })
  const counted = async function* (): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      bytes += chunk.length
      progress.report(bytes)
      yield chunk
    }
  }
  try {
    if (out === undefined || out === '-') await pipeline(Readable.from(counted()), process.stdout, { end: false })
    else await intoFile(counted(), out)
  } finally {
    progress.end()
  }
  return bytes
}

async function intoFile(chunks: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  if (existsSync(path)) throw new CliFailure(`${path} exists: choose another name, or move it away`, EXIT.usage)
  const part = `${path}.part`
  const file = await open(part, 'w', 0o600)
  try {
    for await (const chunk of chunks) await file.write(chunk)
    await file.sync()
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  } finally {
    await file.close()
  }
  renameSync(part, path)
}
