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
