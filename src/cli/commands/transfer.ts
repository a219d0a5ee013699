/** @module Commands that export, import or copy a history. */
import type { FormatName } from '../../export/formats.ts'
import type { CliCommand } from '../cli-command.ts'
import { choice, flag, jsonFlag, PLACE, tenantFlag, tokenFlag, urlFlag } from '../flag.ts'
import { filterFlags } from './filter-flags.ts'

/** Listed here so that only exports load the modules of the formats; the compiler reports a missing one. */
const FORMATS: Readonly<Record<FormatName, true>> = {
  jsonl: true,
  csv: true,
  cloudevents: true,
  'cloudevents-batch': true,
  ocsf: true,
  otlp: true,
}

export function transferCommands(program: CliCommand): void {
  program.commandsGroup('Take it elsewhere:')
  program
    .command('export')
    .description(
      'write a run, a query or a whole tenant, in a line format or as an evidence bundle; the export is recorded',
    )
    .flags(
      flag('--bundle <file.tar>', 'events, log, checkpoint, signed manifest, report and verify.mjs in one new file'),
      flag(
        '--whole-log',
        'with --bundle of one run: prove it by the headers of the whole log, not by the tree of streams that the checkpoint names',
      ),
      flag('--values', 'with --bundle: include the large values that the events name'),
      flag(
        '--from <leaf>',
        "only the tenant's events from this leaf of its log on: `to` of the last part's trailer, 0 for the first",
      ),
      choice('--format <format>', 'format of the lines (default: jsonl)', Object.keys(FORMATS)),
      flag('--out <file>', 'a new file, which gets its name once it is complete (default: standard output)'),
      tenantFlag(),
      urlFlag('ask a running ledger instead of opening the store; a cut line is taken up again'),
      tokenFlag('audit:export'),
      jsonFlag('with --out or --bundle: print what was written as JSON'),
      ...filterFlags(),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../export.ts')).exportEvents)
  program
    .command('import')
    .description('turn chat transcripts into signed runs, one run per line; importing the same file again adds nothing')
    .argument('<file>', 'a file of JSON lines, or - for standard input')
    .flags(
      choice('--format <format>', 'needed: the OpenAI chat format with tool calls, {id, model, messages}', ['openai']),
      tenantFlag(),
      urlFlag('send to a running ledger instead of opening the store'),
      tokenFlag('runs:write'),
      jsonFlag(),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../import.ts')).importRuns)
  program
    .command('copy')
    .description(
      'copy a whole ledger into an empty store, every event verified; run again, it continues where it stopped',
    )
    .flags(
      flag('--from <store>', 'needed: a store; it may be served meanwhile, and is read up to its present end'),
      flag('--to <store>', 'needed: an empty store that no process serves'),
      jsonFlag(),
    )
    .settings('data', 'keys')
    .runs(async () => (await import('../copy.ts')).copy)
}
