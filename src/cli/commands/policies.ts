/** @module Commands about policies: learn from recorded runs which places change (`moves`), adopt declared places, and try a policy on recorded handoffs. */
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asking } from './asking.ts'

export function policyCommands(program: CliCommand): void {
  const group = program
    .command('policy')
    .description('learn which places move, take over what agents declared, try a policy on recorded handoffs')
  asking(group.command('learn'), 'payloads:read')
    .description(
      'propose the places that move, each in the narrowest kind that 20 changes in 3 runs keep; nothing is in force by that',
    )
    .argument('[runs...]', 'ids of runs (default: the newest 100), or one file of lines {run, before, after}')
    .flags(...intoFlags())
    .runs(async () => (await import('../policy.ts')).learn)
  asking(group.command('adopt'), 'payloads:read')
    .description("a run's declared places as members of a policy: printed, or added to a file")
    .argument('<run>', 'id of the run')
    .flags(...intoFlags())
    .runs(async () => (await import('../policy.ts')).adopt)
  asking(group.command('try'), 'payloads:read')
    .description(
      'judge recorded handoffs by a policy that is not in force: what it would have refused, and what is suspect',
    )
    .argument('<file>', 'the policy')
    .argument('[runs...]', 'ids of runs (default: the newest 100)')
    .flags(forFlag())
    .runs(async () => (await import('../policy.ts')).tryPolicy)
}

const forFlag = () => flag('--for <tenant>', 'the tenant whose policy of the file it is (default: default)')

const intoFlags = () => [
  flag('--into <file>', 'add them to this policy file; a place that it declares keeps its kind'),
  forFlag(),
]
