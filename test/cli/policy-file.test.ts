import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readPolicies } from '../../src/settings/policy-file.ts'
import { countersign } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { within } from '../support/within.ts'

const test = suite('cli: the file of policies')

test('serve stops with one line that says file, place and reason of a policy that it cannot use (A173)', async () => {
  using folder = tempFolder()
  const write = (name: string, text: string): string => {
    writeFileSync(folder.file(name), text)
    return name
  }
  const bad: readonly (readonly [string, RegExp])[] = [
    ['missing.json', /missing\.json.*ENOENT/],
    ['.', /"\.".*EISDIR/],
    [write('cut.json', '{"immutable": ["/a"'), /cut\.json is no policy/],
    [write('twice.json', '{"immutable": ["/a"], "immutable": []}'), /twice\.json is no policy at \/immutable: /],
    [
      write('word.json', '{"protekt": "*"}'),
      /word\.json is no policy at \/protekt: this member is not part of the schema/,
    ],
    [
      write('tenant.json', '{"tenants": {"acme": {"immutable": ["a"]}}}'),
      /tenant\.json is no policy at \/tenants\/acme\/immutable\/0: /,
    ],
    [write('name.json', '{"tenants": {"ACME": {}}}'), /name\.json is no policy at \/tenants\/ACME: /],
    [
      write('dead.json', '{"tenants": {"acme": {"redaction": [{"name": "a", "at": ["/customer/**"]}]}}}'),
      /dead\.json is no policy at \/tenants\/acme\/redaction\/0\/at\/0: .*write \/\*\/customer/,
    ],
    [write('list.json', '[]'), /list\.json is no policy: /],
  ]
  const cwd = process.cwd()
  process.chdir(folder.path)
  try {
    for (const [file, says] of bad) assert.throws(() => readPolicies(file), says)
  } finally {
    process.chdir(cwd)
  }
  const [file, says] = bad[4] as (typeof bad)[number]
  const args = ['serve', '--port', '0', '--policy', file]
  const { code, stdout, stderr } = await within(countersign(args, { cwd: folder.path }), 'the end of serve')
  assert.is(code, 2, stderr)
  assert.is(stderr.trimEnd().split('\n').length, 1, stderr)
  assert.match(stderr, says)
  assert.not.match(stdout, /listening/)
})

test('serve gives each tenant its policy, an edit counts for later runs, and a bad edit for none (A173)', async () => {
  using folder = tempFolder()
  const file = folder.file('policies.json')
  writeFileSync(file, '{"tenants": {"acme": {"immutable": ["/mrn"]}, "*": {"ungrounded": "reject"}}}')
  await using server = await startServer({ data: folder.file('.countersign'), env: { COUNTERSIGN_POLICY: file } })
  const start = await starterOf(server.url, folder.path)
  assert.equal((await start('acme', 'a')).immutable, ['/mrn'])
  assert.is((await start('other', 'a')).ungrounded, 'reject')

  writeFileSync(file, '{"tenants": {"acme": {"immutable": ["/mrn", "/dob"]}}}')
  assert.equal((await start('acme', 'b')).immutable, ['/mrn', '/dob'])
  assert.is((await start('other', 'b')).ungrounded, 'warn')
  writeFileSync(file, '{"tenants": {"acme": {"immutable": "/mrn"}}}')
  assert.equal((await start('acme', 'c')).immutable, ['/mrn', '/dob'])
  assert.match(server.output, /policies cannot be used.*mend it/)
})

/** Starts a run of a tenant; says the policy on its record. */
async function starterOf(url: string, cwd: string): Promise<(tenant: string, id: string) => Promise<Policy>> {
  const tokens = new Map<string, Record<string, string>>()
  return async (tenant, id) => {
    if (!tokens.has(tenant)) {
      const made = await runInProcess(['token', '--tenant', tenant, '--scope', 'runs:write runs:read'], { cwd })
      tokens.set(tenant, { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' })
    }
    const headers = tokens.get(tenant) as Record<string, string>
    await fetch(`${url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify({ id, name: id }) })
    const run = await fetch(`${url}/v1/runs/${id}`, { headers })
    return ((await run.json()) as { policy: Policy }).policy
  }
}

interface Policy {
  readonly immutable?: readonly string[]
  readonly ungrounded: string
}

test('validate takes the same file and the tenant whose policy counts', async () => {
  using folder = tempFolder()
  writeFileSync(
    folder.file('p.json'),
    '{"tenants": {"acme": {"free": ["board"]}, "*": {"free": [], "suspect": "refuse"}}}',
  )
  const stdin = '{"before": {"board": 1}, "after": {"board": 2}}'
  const verdict = async (...args: string[]) => {
    const { stdout } = await runInProcess(['validate', '--policy', 'p.json', ...args], { cwd: folder.path, stdin })
    return JSON.parse(stdout).verdict
  }
  assert.equal([await verdict('--tenant', 'acme'), await verdict()], ['accept', 'reject'])
})

test.run()
