/** @module Writes streamed output to standard output, or to a new file that gets its name only once it is complete. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Settings } from '../settings/config.ts'
import { isLedgerFile } from '../settings/places.ts'
import { CliFailure, EXIT } from './failure.ts'
import { startProgress } from './progress.ts'

/**
 * Writes the chunks and returns the number of bytes. A file gets its name only once it is complete. Throws `CliFailure` for a file that exists, or whose name
 * is that of a file of the ledger.
 */
export async function written(
  chunks: AsyncIterable<Uint8Array>,
  out: string | undefined,
  settings: Settings,
): Promise<number> {
  if (out !== undefined && out !== '-' && isLedgerFile(out, settings))
    throw new CliFailure(
      `${out} is the name of a file of the ledger itself: write to another folder than ${settings.data}`,
      EXIT.usage,
    )
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
