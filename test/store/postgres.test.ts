import { openNewPostgresStore } from '../support/postgres-store.ts'
import { storeContract } from './contract.ts'

storeContract('postgres store', openNewPostgresStore)
