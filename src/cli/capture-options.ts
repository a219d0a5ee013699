/** @module Shared options of the capture commands: the ledger that they record in, and the effects of tools. */
import { readFileSync } from 'node:fs'
import { type Effects, OFFICIAL_EFFECTS, parseEffects } from '../capture/effects.ts'
import { createClient } from '../client/client.ts'
import { reasonOf } from '../settings/reason-of.ts'
import type { Arguments } from './arguments.ts'
import type { CaptureClient, CaptureLedger } from './capture-ledger.ts'
import { usageFailure } from './failure.ts'

/** Parses `--effects`: a file, or the name of a built-in table. Throws `CliFailure` for anything else. */
export function effectsOf(named: string | undefined, command: string): Effects {
  if (named === undefined) return {}
  if (Object.hasOwn(OFFICIAL_EFFECTS, named)) return OFFICIAL_EFFECTS[named] ?? {}
  const read = parseEffects(textOf(named, command))
  if (!read.ok) throw usageFailure(`--effects: ${named}: ${read.message}`, command)
  return read.effects
}

function textOf(path: string, command: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const names = Object.keys(OFFICIAL_EFFECTS).join(', ')
    throw usageFailure(
      `--effects: ${path} cannot be read (${reasonOf(error)}); it takes a file, or one of ${names}`,
      command,
    )
  }
}

/** The ledger at `--url`, or the store itself, whose code is loaded only if needed. */
export async function ledgerOf(args: Arguments, limits: CaptureClient): Promise<CaptureLedger> {
  const { command, lockedMs: _, ...patience } = limits
  const url = args.text('url')
  if (url === undefined) return (await import('./capture-ledger-here.ts')).ledgerHere(args, limits)
  if (!URL.canParse(url) || !/^https?:/.test(url)) throw usageFailure(`--url: "${url}" is no http(s) address`, command)
  if (args.text('tenant') !== undefined)
    throw usageFailure('--tenant: over --url the tenant is that of the token', command)
  const token = args.text('token') ?? process.env.COUNTERSIGN_TOKEN ?? ''
  if (token === '') throw usageFailure('--url needs a token: set COUNTERSIGN_TOKEN, or give --token', command)
  const client = createClient({ url, token, ...patience })
  return { client, url: client.url, [Symbol.asyncDispose]: async () => undefined }
}
