/** @module Flags of every command that queries a ledger: over HTTP with `--url`, otherwise from the store. */
import type { CliCommand } from '../cli-command.ts'
import { flag, jsonFlag, PLACE, tenantFlag, tokenFlag, trustNothingFlag, urlFlag } from '../flag.ts'

export function asking(command: CliCommand, scope = 'audit:read'): CliCommand {
  return command
    .flags(
      urlFlag('ask a running ledger; without it the store is read, beside its owner or without one'),
      tokenFlag(scope),
      tenantFlag('tenant, where the store is read (default: default)'),
      trustNothingFlag('; not with --url'),
      jsonFlag('one JSON object a line; the default where the output is no terminal'),
    )
    .settings(...PLACE)
}

export const asItWas = () => flag('--as-of <size>', "the run as it was when the tenant's log had so many events")

export const limitFlag = () => flag('--limit <count>', 'at most this many (default: all)')
