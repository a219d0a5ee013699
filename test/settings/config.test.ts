import { mkdirSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readSettings } from '../../src/settings/config.ts'
import { SettingsError } from '../../src/settings/settings-error.ts'
import { tempFolder } from '../support/temp-folder.ts'

const config = suite('settings')

config('a flag goes before a variable, a variable before the default', () => {
  assert.is(readSettings({}, {}).port, 7_070)
  assert.is(readSettings({}, { COUNTERSIGN_PORT: '8080' }).port, 8_080)
  assert.is(readSettings({ port: '9090' }, { COUNTERSIGN_PORT: '8080' }).port, 9_090)
  assert.is(readSettings({}, { COUNTERSIGN_PORT: '' }).port, 7_070)
})

config('by default it listens to this machine alone (HTTP-9)', () => {
  assert.is(readSettings({}, {}).host, '127.0.0.1')
})

config('a value that cannot be used is refused, and its source is named', () => {
  const wrong = {
    port: '65536',
    'log-level': 'loud',
    'rate-per-second': '-1',
    'open-metrics': 'perhaps',
    store: 'mysql://x',
    host: '',
  }
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(
      () => readSettings({ [name]: value }, {}),
      (error: unknown) => {
        return error instanceof SettingsError && error.message.startsWith(`--${name}`)
      },
    )
  }
  assert.throws(
    () => readSettings({}, { COUNTERSIGN_LOG_LEVEL: 'loud' }),
    (error: unknown) => error instanceof SettingsError && error.message.startsWith('COUNTERSIGN_LOG_LEVEL'),
  )
})

config('a variable that is no setting is refused, with the one that was probably meant', () => {
  const refused = (name: string): string => {
    try {
      readSettings({}, { [name]: '1' })
    } catch (error) {
      if (error instanceof SettingsError) return error.message
    }
    return ''
  }
  assert.is(
    refused('COUNTERSIGN_SCRUB_DAY'),
    'COUNTERSIGN_SCRUB_DAY: there is no such setting: did you mean COUNTERSIGN_SCRUB_DAYS?',
  )
  assert.match(refused('COUNTERSIGN_TOKN'), 'did you mean COUNTERSIGN_TOKEN?')
  assert.match(refused('COUNTERSIGN_'), 'there is no such setting')
  for (const name of ['COUNTERSIGN_URL', 'COUNTERSIGN_TEST_SEED', 'COUNTER', 'countersign_port', 'PORT'])
    assert.is(refused(name), '', name)
  assert.is(readSettings({}, { COUNTERSIGN_SCRUB_DAY: '' }).scrubDays, readSettings({}, {}).scrubDays)
})

config('what Kubernetes says of Services with this name is no setting, the port among it', () => {
  const injected = {
    COUNTERSIGN_SERVICE_HOST: '10.96.0.12',
    COUNTERSIGN_SERVICE_PORT: '7070',
    COUNTERSIGN_SERVICE_PORT_HTTP: '7070',
    COUNTERSIGN_PORT: 'tcp://10.96.0.12:7070',
    COUNTERSIGN_PORT_7070_TCP: 'tcp://10.96.0.12:7070',
    COUNTERSIGN_PORT_7070_TCP_PROTO: 'tcp',
    COUNTERSIGN_PORT_7070_TCP_PORT: '7070',
    COUNTERSIGN_PORT_7070_TCP_ADDR: '10.96.0.12',
    COUNTERSIGN_WITNESS_SERVICE_HOST: '10.96.0.13',
    COUNTERSIGN_WITNESS_PORT: 'tcp://10.96.0.13:80',
  }
  assert.equal(readSettings({}, injected), readSettings({}, {}))
  assert.is(readSettings({ port: '9090' }, injected).port, 9_090)
})

config('a store is a path, a folder with one in it, or a URL', () => {
  using folder = tempFolder()
  mkdirSync(folder.file('data'))
  const path = (store: string) => readSettings({ store }, {}).store
  assert.equal(path('a.db'), { kind: 'sqlite', path: 'a.db' })
  assert.equal(path('sqlite:a.db'), { kind: 'sqlite', path: 'a.db' })
  assert.equal(path(folder.file('data')), { kind: 'sqlite', path: folder.file('data/store.db') })
  assert.equal(path('memory:'), { kind: 'memory' })
})

config(
  'keys lie beside the store where there are some, else in the data folder; the variable may hold their text',
  () => {
    using folder = tempFolder()
    const data = folder.file('data')
    const store = folder.file('else.db')
    assert.equal(readSettings({ data, store }, {}).keys, { kind: 'file', path: `${data}/keys.json` })
    writeFileSync(folder.file('keys.json'), '')
    assert.equal(readSettings({ data, store }, {}).keys, { kind: 'file', path: folder.file('keys.json') })
    assert.equal(readSettings({ keys: 'k.json' }, { COUNTERSIGN_KEYS: '{}' }).keys, { kind: 'file', path: 'k.json' })
    assert.equal(readSettings({}, { COUNTERSIGN_KEYS: ' {"v":1}' }).keys, { kind: 'text', text: ' {"v":1}' })
  },
)

config.run()
