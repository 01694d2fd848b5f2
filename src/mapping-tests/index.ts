// Tests of mappings: their files, the schema they run against, and what they find.

export { shownValue } from './expected-value.ts'
export { junitError, junitXml, type TestSuite } from './junit.ts'
export { mappingTestOf, TESTS_MAX, type MappingTest } from './mapping-test.ts'
export { runMappingTests, type TestDifference, type TestResult } from './run-tests.ts'
export {
  ageInDays,
  schemaAgeText,
  readSavedSchema,
  saveSchema,
  savedTarget,
  SCHEMA_DAYS_MAX,
  savedSchemaPath,
  type ReadSchema,
  type SavedSchema,
} from './saved-schema.ts'
export { readTestFile } from './test-file.ts'
