/** @module `countersign approvals`: commands about calls that wait for an approval. */
import type { CliCommand } from '../cli-command.ts'
import { flag } from '../flag.ts'
import { asking, limitFlag } from './asking.ts'

export function approvalsCommands(program: CliCommand): void {
  const group = program.command('approvals').description('list calls that wait for approval; grant or deny one')
  asking(group.command('list'), 'approvals:write')
    .description('what can be decided now, with the arguments of each call')
    .flags(limitFlag(), flag('--as-of <size>', "what could be decided when the tenant's log had so many events"))
    .runs(async () => (await import('../approvals.ts')).listApprovals)
  for (const [name, description] of [
    ['grant', 'say yes to a call with exactly the arguments that the approval has; it is signed with your name'],
    ['deny', 'say no to a call: it does not run'],
    ['withdraw', 'take back a yes that was not used yet: the call waits again'],
  ] as const) {
    asking(group.command(name), 'approvals:write')
      .description(`${description}. Over the store itself, this command owns the ledger meanwhile`)
      .argument('<run>', 'id of the run')
      .argument('<approval>', 'id of the approval')
      .flags(
        flag('--comment <text>', 'why; it is recorded'),
        flag('--digest <digest>', 'digest of the arguments that you have seen; refused if the approval has others'),
        flag('--as <name>', 'who decides; needed over the store itself, where no token says it'),
        flag(
          '--role <names>',
          'roles of the person who decides, over the store itself: names with commas between them',
        ),
      )
      .runs(async () => (await import('../approvals.ts'))[`${name}Approval`])
  }
}
