/** @module Commands that verify and prove, offline or of a running ledger. */
import type { Option } from 'commander'
import type { CliCommand } from '../cli-command.ts'
import { flag, jsonFlag, PLACE, tenantFlag, tokenFlag, trustNothingFlag, urlFlag } from '../flag.ts'

/** For a command that asks a running ledger for what it otherwise reads from the store. */
const ofServer = (scope: string): readonly Option[] => [urlFlag(), tokenFlag(scope)]

export function evidenceCommands(program: CliCommand): void {
  program.commandsGroup('Check and prove:')
  verify(program)
  program
    .command('replay')
    .description('read a run again, fold it, and compare the result with its recorded snapshots')
    .argument('<run>', 'id of the run')
    .flags(tenantFlag(), ...ofServer('payloads:read'), jsonFlag('one JSON object a line'))
    .settings(...PLACE)
    .explained(EXIT_CODES)
    .runs(async () => (await import('../replay.ts')).replay)
  program
    .command('checkpoint')
    .description("print the last checkpoint of a tenant's log: keep it where this ledger cannot reach it")
    .flags(
      tenantFlag(),
      flag('--key', 'print the verifier key of the log instead'),
      flag('--successions', 'print the signed notes in which earlier keys of the logs name those that followed them'),
      flag(
        '--timestamp <folder>',
        'write the last time-stamped checkpoint and its token there, for openssl ts -verify',
      ),
      flag('--witness <url>', 'have a witness cosign it first'),
      flag('--witness-key <key>', 'verifier key of that witness'),
      ...ofServer('audit:read'),
      jsonFlag('print the note, the key or the successions as a member of a JSON object'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../checkpoint.ts')).checkpoint)
  program
    .command('proof')
    .description('print a tlog-proof file that proves offline that an event is in its log')
    .argument('<event>', 'id of the event')
    .flags(
      tenantFlag(),
      flag('--key <key>', 'verifier key of the log, where the key file is not at hand'),
      trustNothingFlag(),
      ...ofServer('audit:read'),
      jsonFlag('print the file as a member of a JSON object'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../proof.ts')).proof)
  consistency(program)
  program
    .command('validate')
    .description('judge handoffs {before, after, supersedes?, evidence?} from standard input, line by line')
    .argument('[input]', '- for standard input, which is the default')
    .flags(
      tenantFlag('tenant whose policy of the file it is (default: default)'),
      flag('--explain', 'print findings for people instead of lines of JSON'),
    )
    .settings('policy')
    .runs(async () => (await import('../validate.ts')).validate)
}

function consistency(program: CliCommand): void {
  program
    .command('consistency')
    .description('check whether two checkpoints that you kept belong to one history of their log')
    .argument('<old>', 'file with a checkpoint')
    .argument('<new>', 'file with another one of the same log')
    .flags(
      flag('--key <key|file>', 'verifier key of the log, or a file with one a line (else as for verify)'),
      ...ofServer('audit:read'),
      jsonFlag(),
    )
    .settings(...PLACE, 'known-keys')
    .explained('Exit code: 0 one history, 1 the log signed two, 2 usage, 3 not proven.')
    .runs(async () => (await import('../consistency.ts')).consistency)
}

const EXIT_CODES =
  'Exit code: 0 verified, 1 tampered, 2 usage, 3 incomplete, unverifiable, or not authenticated (no key of the log).'

const VERDICTS = [
  EXIT_CODES,
  'VERIFIED says that nothing was changed, dropped or slipped in before the last event that is there. It does not say that nothing is missing after it (only a checkpoint held elsewhere shows that), nor that what was recorded is true.',
  'An export of a run or a query is never VERIFIED: nothing in it proves that its end is there. A bundle proves it.',
]

function verify(program: CliCommand): void {
  program
    .command('verify')
    .description('check every event of a store, an export or a bundle')
    .argument(
      '[what...]',
      'a store, EXPORT.jsonl, BUNDLE.tar, or - (default: the store of the data folder); or the parts of a log (export --from), all of them',
    )
    .flags(
      flag('--checkpoint <file>', 'a checkpoint saved earlier: the history up to it must be the same'),
      flag(
        '--key <key|file>',
        'verifier key of the log, or a file with one a line (else: the pinned ones, or the key file that is named)',
      ),
      flag(
        '--witness <keys>',
        'of a bundle: verifier keys, with commas between, of the witnesses that must have cosigned its checkpoint',
      ),
      flag('--quorum <count>', 'how many of them must have (default: all)'),
      flag(
        '--timestamp-ca <file>',
        'of a bundle: certificates (PEM) of the authorities, one of which must have time-stamped its log',
      ),
      flag('--run-key <file>', 'disclosed keys of a run (keys disclose), to check the macs of its events'),
      flag(
        '--threads <count>',
        'of a store in a file: threads that check events beside the one that judges their order, which checks some too (default: one for each other processor, at most 7; 0: that one does all of it)',
      ),
      flag('--fast', 'check every byte, but not again that bodies are canonical and fit their schemas'),
      urlFlag('verify the whole log of a running ledger, as an export of it: its keys are those of a reader'),
      tokenFlag('audit:export'),
      jsonFlag(),
    )
    .settings(...PLACE, 'known-keys')
    .explained(...VERDICTS)
    .runs(async () => (await import('../verify.ts')).verify)
}
