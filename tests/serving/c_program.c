/* Runs a graph of a SavedModel by TensorFlow's C API:
 *
 *     c_program MODEL OPS OUTPUT INPUT=1,2,3 INPUT=...
 *
 * OPS is a library of ops to load, or empty. Tensors are named as in the
 * signature, "operation:number"; inputs are vectors of int64. Prints the
 * output's floats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

#define MOST_INPUTS 64
#define MOST_NUMBERS 4096

static void Check(const TF_Status* status, const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

/* Cuts `name` at its colon. */
static TF_Output Named(TF_Graph* graph, char* name) {
  char* colon = strrchr(name, ':');
  TF_Output tensor;
  if (colon != NULL) *colon = '\0';
  tensor.oper = TF_GraphOperationByName(graph, name);
  tensor.index = colon == NULL ? 0 : atoi(colon + 1);
  if (tensor.oper != NULL) return tensor;
  fprintf(stderr, "the graph has no operation %s\n", name);
  exit(1);
}

static TF_Tensor* Vector(char* numbers) {
  int64_t values[MOST_NUMBERS];
  int64_t count = 0;
  for (char* next = strtok(numbers, ","); next != NULL && count < MOST_NUMBERS;
       next = strtok(NULL, ",")) {
    values[count++] = strtoll(next, NULL, 10);
  }
  const size_t bytes = (size_t)count * sizeof(int64_t);
  TF_Tensor* tensor = TF_AllocateTensor(TF_INT64, &count, 1, bytes);
  memcpy(TF_TensorData(tensor), values, bytes);
  return tensor;
}

int main(int argc, char** argv) {
  if (argc < 4 || argc - 4 > MOST_INPUTS) return 2;
  TF_Status* status = TF_NewStatus();
  TF_Library* library = NULL;
  if (argv[2][0] != '\0') {
    library = TF_LoadLibrary(argv[2], status);
    Check(status, "TF_LoadLibrary");
  }
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tags[] = {"serve"};
  TF_Session* session = TF_LoadSessionFromSavedModel(
      options, NULL, argv[1], tags, 1, graph, NULL, status);
  Check(status, "TF_LoadSessionFromSavedModel");

  TF_Output inputs[MOST_INPUTS];
  TF_Tensor* values[MOST_INPUTS];
  const int count = argc - 4;
  for (int i = 0; i < count; ++i) {
    char* equals = strchr(argv[4 + i], '=');
    if (equals == NULL) return 2;
    *equals = '\0';
    inputs[i] = Named(graph, argv[4 + i]);
    values[i] = Vector(equals + 1);
  }
  TF_Output output = Named(graph, argv[3]);
  TF_Tensor* answer = NULL;
  TF_SessionRun(session, NULL, inputs, values, count, &output, &answer, 1, NULL,
                0, NULL, status);
  Check(status, "TF_SessionRun");
  const float* floats = TF_TensorData(answer);
  const size_t size = TF_TensorByteSize(answer) / sizeof(float);
  for (size_t i = 0; i < size; ++i) printf("%.9g\n", floats[i]);

  TF_DeleteTensor(answer);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(values[i]);
  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  if (library != NULL) TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(status);
  return 0;
}
