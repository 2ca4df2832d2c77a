def softmax(s, dim):
    return s
