/** @module What is on record of a process that serves a ledger: its start, its settings, edits, tokens, sign-ins and its end. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { noteIssuedToken, takeIssuedTokens } from '../../src/compose/issued-tokens.ts'
import { recordService } from '../../src/compose/service-recorder.ts'
import type { ServiceRecord, StartedService } from '../../src/ledger/service.ts'
import { readSettings } from '../../src/settings/config.ts'
import { recordedSettings } from '../../src/settings/recorded-settings.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { collect } from '../support/records.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('the record of the service')

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
const issued = {
  v: 1 as const,
  token: '00000000-0000-4000-8000-000000000001',
  kid: 't1',
  subject: 'kim',
  forTenant: 'acme',
  scopes: ['runs:read'],
  issuedAt: '2026-01-02T03:04:05.000Z',
  expires: '2026-01-02T04:04:05.000Z',
}

/** Of the ledger's own facts, without checkpoints: type and body. */
async function factsOf(data: string): Promise<readonly (readonly [string, Record<string, unknown>])[]> {
  await using store = await openSqliteStore({ path: `${data}/store.db` })
  const records = await collect(store.readStream('ledger-system'))
  return records
    .map(({ header, data: body }) => [JSON.parse(header).type as string, JSON.parse(body)] as const)
    .filter(([type]) => type !== 'CheckpointSigned')
}

test('a server puts its start with its settings, and its end, on record; the next start says which settings are others (LOG-30)', async () => {
  using folder = tempFolder()
  const data = folder.file('.countersign')
  await (await startServer({ data })).stop()
  await (
    await startServer({
      data,
      args: ['--strict-access', 'true', '--judge', 'http://127.0.0.1:1/secret/word?k=hidden'],
    })
  ).stop()
  const facts = await factsOf(data)
  assert.equal(
    facts.map(([type]) => type),
    ['LedgerCreated', 'ServiceStarted', 'ServiceStopped', 'ServiceStarted', 'ServiceStopped'],
  )
  const [, first, firstEnd, second] = facts.map(([, body]) => body)
  assert.is(first?.start, firstEnd?.start)
  assert.is(first?.changed, undefined)
  assert.equal(second?.changed, ['judge', 'strict-access'])
  assert.not.match(JSON.stringify(facts), /secret|hidden/)
  assert.is((await runInProcess(['verify'], { cwd: folder.path })).code, 0)
})

test('a token that was issued is on record with all that it may do, and never the token itself (LOG-31)', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  const data = folder.file('.countersign')
  const server = await startServer({ data })
  const flags = ['--scope', 'runs:read audit:read', '--tenant', 'acme', '--sub', 'kim', '--role', 'lead', '--run', 'r1']
  const { stdout, stderr } = await runInProcess(['token', ...flags], { cwd })
  assert.is(stderr, '')
  await eventually(() => (readdirSync(`${data}/issued-tokens`).length === 0 ? true : undefined), 'taken up')
  await server.stop()
  const [, body] = (await factsOf(data)).find(([type]) => type === 'TokenIssued') ?? []
  const claims = JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString())
  assert.is(body?.token, claims.jti)
  assert.equal(
    [body?.subject, body?.forTenant, body?.scopes, body?.roles, body?.run],
    ['kim', 'acme', ['runs:read', 'audit:read'], ['lead'], 'r1'],
  )
  assert.not.ok(JSON.stringify(body).includes(stdout.trim().split('.')[2] ?? 'none'))
})

test('a token issued while nobody serves waits on disk, and one that cannot be on record says so (LOG-31)', async () => {
  using folder = tempFolder()
  assert.is(noteIssuedToken(folder.file('nowhere'), issued), false)
  assert.is(noteIssuedToken(folder.path, issued), true)
  const taken: string[] = []
  await takeIssuedTokens(
    folder.path,
    async () => {
      throw new StoreUnavailableError('away', 1)
    },
    silent,
  ).then(
    () => assert.unreachable('recorded'),
    () => undefined,
  )
  for (let times = 0; times < 2; times += 1)
    await takeIssuedTokens(folder.path, async ({ token }) => void taken.push(token), silent)
  assert.equal(taken, [issued.token], 'kept where it could not be recorded, then recorded once')
})

test('what is no note of a token is removed with a word, and the next one is taken', async () => {
  using folder = tempFolder()
  mkdirSync(folder.file('issued-tokens'))
  writeFileSync(folder.file('issued-tokens/000.json'), '{"v":1}')
  noteIssuedToken(folder.path, issued)
  const [taken, warned]: [string[], object[]] = [[], []]
  const log = { warn: (fields: object) => void warned.push(fields) }
  await takeIssuedTokens(folder.path, async ({ token }) => void taken.push(token), log)
  assert.equal([taken, warned.length], [[issued.token], 1])
  assert.not.ok(existsSync(folder.file('issued-tokens/000.json')))
})

/** A record that answers as it is told; what was asked of it. */
function standIn(started: (service: StartedService) => Promise<string>) {
  const asked: string[] = []
  const service: ServiceRecord = {
    started: (told) => {
      asked.push('started')
      return started(told)
    },
    stopped: async () => void asked.push('stopped'),
    changed: async (_, { setting }) => void asked.push(setting),
    tokenIssued: async () => void asked.push('token'),
  }
  return { asked, service }
}

const settingsOf = (flags: object) => readSettings({ store: 'memory:', ...flags }, {})

test('a store that never answers does not hold the end of the process', async () => {
  const { asked, service } = standIn(() => new Promise(() => undefined))
  const kept = recordService({ ledger: { service }, settings: settingsOf({}), version: '1', log: silent })
  await kept.close()
  assert.equal(asked, ['started'])
})

test('a start that the store does not take at first is tried again, and said once', async () => {
  let tries = 0
  const said: object[] = []
  const { asked, service } = standIn(async () => {
    tries += 1
    if (tries === 1) throw new StoreUnavailableError('full', 1)
    return issued.token
  })
  const log = { ...silent, warn: (fields: object) => void said.push(fields) }
  const kept = recordService({ ledger: { service }, settings: settingsOf({}), version: '1', log })
  await eventually(() => (tries === 2 ? true : undefined), 'the second try')
  await kept.close()
  assert.equal(asked, ['started', 'started', 'stopped'])
  assert.is(said.length, 1)
})

test('an edit of the file of policies is on record, the same bytes again are not (LOG-30)', async () => {
  using folder = tempFolder()
  const policy = folder.file('policy.json')
  writeFileSync(policy, '{"protect":["a"]}')
  const { asked, service } = standIn(async () => issued.token)
  const kept = recordService({ ledger: { service }, settings: settingsOf({ policy }), version: '1', log: silent })
  writeFileSync(policy, '{"protect":["a","b"]}')
  await eventually(() => (asked.includes('policy') ? true : undefined), 'the edit')
  await kept.close()
  assert.equal(asked, ['started', 'policy', 'stopped'])
})

test('where answers may go is recorded: origins of pages, and the webhook without its secrets (LOG-30)', () => {
  const { cors, webhook, ...rest } = recordedSettings(
    settingsOf({
      cors: 'https://app.example.com,https://other.example.com',
      webhook: 'https://u:p@hooks.example/x?k=v',
      'webhook-secrets': '/etc/secrets',
      'webhook-events': 'approval.requested',
      'webhook-allow': '10.0.0.0/8',
      'public-url': 'https://u:p@ledger.example/',
    }),
  )
  assert.is(cors, 'https://app.example.com,https://other.example.com')
  assert.is(webhook, 'hooks.example')
  assert.is(rest['webhook-secrets'], undefined)
  assert.is(rest['webhook-events'], 'approval.requested')
  assert.is(rest['webhook-allow'], '10.0.0.0/8')
  assert.is(rest['public-url'], 'ledger.example')
})

test('of addresses the host is recorded, of files the digest, of nothing that is secret anything (SEAL-12)', () => {
  using folder = tempFolder()
  writeFileSync(folder.file('issuers.json'), '[]')
  const told = recordedSettings(
    settingsOf({ judge: 'https://u:p@judge.example/x?k=v', 'trusted-issuers': folder.file('issuers.json') }),
  )
  assert.is(told.judge, 'judge.example')
  assert.match(told['trusted-issuers'] ?? '', /^sha256:[0-9a-f]{64}$/)
})

test.run()
