/** @module `countersign keys`: commands about keys. */
import type { CliCommand } from '../cli-command.ts'
import { flag, jsonFlag, PLACE, tenantFlag, tokenFlag, urlFlag } from '../flag.ts'

export function keyCommands(program: CliCommand): void {
  const keys = program.command('keys').description('make, show, rotate and disclose keys; pin the key of another log')
  keys
    .command('create')
    .description('make the first keys of a store that several processes share')
    .flags(jsonFlag())
    .settings(...PLACE)
    .runs(async () => (await import('../keys.ts')).createKeys)
  keys
    .command('list')
    .description("show the keys without their secrets, and the verifier key of a tenant's log")
    .flags(
      tenantFlag('whose log is named with its verifier key (default: default)'),
      urlFlag('ask a running ledger instead of reading the key file: the keys that it announced'),
      tokenFlag('audit:read'),
      jsonFlag(),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../keys.ts')).listKeys)
  keys
    .command('rotate')
    .description('make a new sealing key; a running ledger uses it within seconds')
    .flags(
      flag('--tokens', 'rotate the key that signs tokens instead: tokens made before are refused'),
      flag('--log', 'rotate the key that signs the logs instead: the old key signs its successor'),
      jsonFlag(),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../keys.ts')).rotateKeys)
  custodyCommands(keys)
  keys
    .command('disclose')
    .description('disclose the keys of a run that has ended, as the JSON file that verify --run-key reads')
    .argument('<run>', 'id of the run')
    .flags(
      tenantFlag('whose run it is (default: default)'),
      urlFlag(),
      tokenFlag('admin'),
      jsonFlag('JSON on one line'),
    )
    .settings(...PLACE)
    .runs(async () => (await import('../disclose-keys.ts')).discloseKeys)
  keys
    .command('pin')
    .description("pin the key of another ledger's log, from its operator: what it signs is checked with it from now on")
    .argument('<key>', 'verifier key, as "countersign checkpoint --key" prints it')
    .flags(
      flag(
        '--succession <file>',
        'of a log whose key was rotated: the notes that lead from the pinned key to this one',
      ),
      jsonFlag(),
    )
    .settings('known-keys')
    .runs(async () => (await import('../pin-key.ts')).pinKey)
}

/** Key files under a key of another program. */
function custodyCommands(keys: CliCommand): void {
  keys
    .command('wrap')
    .description('encrypt the key file under a key of the program of --keys exec:COMMAND, which every start then needs')
    .flags(jsonFlag())
    .settings(...PLACE)
    .runs(async () => (await import('../keys.ts')).wrapKeys)
  keys
    .command('unwrap')
    .description('decrypt a key file that "keys wrap" encrypted')
    .flags(jsonFlag())
    .settings(...PLACE)
    .runs(async () => (await import('../keys.ts')).unwrapKeys)
}
